/*
 * Print, one fact a line, what a payload can see of its world: descriptors, capabilities, ids,
 * processes, network interfaces. Tests compare the output with an exact expected text.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	printf("fds");
	for (int fd = 0; fd < 4096; fd++) {
		if (fd != dirfd(dir) && fcntl(fd, F_GETFD) >= 0)
			printf(" %d", fd);
	}
	printf("\n");
	closedir(dir);
}

static void print_status(void)
{
	static const char *const keys[] = {"CapInh:", "CapPrm:",     "CapEff:",	 "CapBnd:",
					   "CapAmb:", "NoNewPrivs:", "Seccomp:", "Groups:"};
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), file) != NULL) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (strncmp(line, keys[i], strlen(keys[i])) != 0)
				continue;
			char *value = line + strlen(keys[i]);
			value += strspn(value, " \t");
			value[strcspn(value, "\n")] = '\0';
			printf("%s %s\n", keys[i], value);
		}
	}
	fclose(file);
}

static void print_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	printf("open %s %s\n", path, fd >= 0 ? "ok" : strerrorname_np(errno));
	if (fd >= 0)
		close(fd);
}

static void print_processes(void)
{
	DIR *dir = opendir("/proc");
	int count = 0;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
	closedir(dir);
	printf("processes %d pid %d ppid %d leads its session %s\n", count, getpid(), getppid(),
	       getsid(0) == getpid() ? "yes" : "no");
}

static void print_interfaces(void)
{
	char line[256];
	FILE *file = fopen("/proc/net/dev", "r");
	printf("interfaces");
	while (fgets(line, sizeof(line), file) != NULL) {
		char *colon = strchr(line, ':');
		if (colon == NULL)
			continue;
		*colon = '\0';
		printf(" %s", line + strspn(line, " "));
	}
	fclose(file);
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int up = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP);
	printf(" lo is %s\n", up ? "up" : "down");
}

int main(void)
{
	char name[256] = "";
	print_descriptors();
	print_status();
	printf("uid %d %d gid %d %d\n", getuid(), geteuid(), getgid(), getegid());
	gethostname(name, sizeof(name));
	printf("hostname %s\n", name);
	mode_t mask = umask(0);
	printf("umask %03o\n", mask);
	print_processes();
	print_interfaces();
	print_open("/proc/1/environ", O_RDONLY);
	print_open("/proc/1/mem", O_RDWR);
	print_open("/proc/1/fd/3", O_RDWR);
	print_open("/proc/1/exe", O_WRONLY);
	print_open("/proc/1/root/etc", O_RDONLY);
	print_open("/proc/kcore", O_RDONLY);
	print_open("/proc/keys", O_RDONLY);
	print_open("/proc/sysrq-trigger", O_WRONLY);
	print_open("/proc/sys/kernel/core_pattern", O_WRONLY);
	print_open("/proc/sys/kernel/hostname", O_WRONLY);
	print_open("/proc/self/comm", O_WRONLY);
	print_open("/etc/shadow", O_RDONLY);
	print_open("/sys/kernel", O_RDONLY);
	print_open("/dev/mem", O_RDONLY);
	print_open("/dev/null", O_RDWR);
	print_open("/dev/stdout", O_WRONLY);
	print_open("/root", O_RDONLY);
	print_open("/home", O_RDONLY);
	print_open("/usr/isorun-was-here", O_WRONLY | O_CREAT);
	print_open("/isorun-was-here", O_WRONLY | O_CREAT);
	print_open("/dev/isorun-was-here", O_WRONLY | O_CREAT);
	print_open("/etc/isorun-was-here", O_WRONLY | O_CREAT);
	print_open("/tmp/isorun-was-here", O_WRONLY | O_CREAT);
	print_open("/run/isorun-was-here", O_WRONLY | O_CREAT);
	print_open("/dev/shm/isorun-was-here", O_WRONLY | O_CREAT);
	return 0;
}
