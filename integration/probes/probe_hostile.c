/* The hostile payloads, by name: each does its worst until it is stopped. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1024 * 1024)

/* Every process forks as fast as it can. */
static void fork_bomb(char **arguments)
{
	(void)arguments;
	for (;;)
		(void)fork(); /* EAGAIN is what we are here for */
}

static void touch(size_t mib)
{
	for (size_t i = 0; i < mib; i++) {
		char *memory =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			exit(9);
		memset(memory, 1, MIB);
	}
}

static void hog_alone(char **arguments)
{
	touch(strtoul(arguments[0], NULL, 10));
}

/* Take every inotify instance that this user may have; say how many. */
static void hog_inotify(char **arguments)
{
	int count = 0;
	(void)arguments;
	while (inotify_init1(0) >= 0)
		count++;
	printf("%d instances\n", count);
	fflush(stdout);
	pause();
}

/* Eight children take an eighth each and wait for each other. */
static void hog_family(char **arguments)
{
	for (int i = 0; i < 8; i++) {
		if (fork() == 0) {
			touch(strtoul(arguments[0], NULL, 10) / 8);
			pause();
		}
	}
	pause();
}

static void hog_tmpfs(char **arguments)
{
	static char block[MIB];
	int fd = open("/tmp/hog", O_WRONLY | O_CREAT, 0600);
	memset(block, 1, sizeof(block));
	for (size_t i = strtoul(arguments[0], NULL, 10); i > 0; i--) {
		if (write(fd, block, sizeof(block)) < 0)
			exit(9);
	}
}

/* Fill both streams with so many MiB each, from two processes at once. */
static void flood(char **arguments)
{
	static char block[MIB];
	size_t count = strtoul(arguments[0], NULL, 10);
	pid_t child = fork();
	memset(block, child == 0 ? 'e' : 'o', sizeof(block));
	for (; count > 0; count--) {
		for (size_t done = 0; done < sizeof(block);) {
			ssize_t written =
				write(child == 0 ? 2 : 1, block + done, sizeof(block) - done);
			if (written < 0)
				exit(9);
			done += (size_t)written;
		}
	}
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* Double fork, new session, every signal ignored, both streams held open; the leader leaves. */
static void orphan(char **arguments)
{
	(void)arguments;
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			for (int number = 1; number < 32; number++)
				signal(number, SIG_IGN);
			for (;;)
				pause();
		}
		_exit(0);
	}
	wait(NULL);
	printf("left\n");
}

/* Stop everything that can be stopped, itself last. */
static void stop_all(char **arguments)
{
	(void)arguments;
	for (int i = 0; i < 4; i++) {
		if (fork() == 0)
			for (;;)
				pause();
	}
	kill(-1, SIGSTOP);
	kill(1, SIGSTOP);
	kill(getppid(), SIGSTOP);
	raise(SIGSTOP);
	pause();
}

/* So many double forks whose grandchildren end at once: all become the init's to reap. */
static void breed(char **arguments)
{
	for (size_t i = strtoul(arguments[0], NULL, 10); i > 0; i--) {
		pid_t child;
		while ((child = fork()) < 0 && errno == EAGAIN)
			usleep(1000);
		if (child == 0)
			_exit(fork() < 0);
		int status;
		waitpid(child, &status, 0);
	}
	printf("bred\n");
}

/* Ignore the polite signals and wait. */
static void deaf(char **arguments)
{
	(void)arguments;
	for (int number = 1; number < 32; number++)
		signal(number, SIG_IGN);
	printf("deaf\n");
	fflush(stdout);
	for (;;)
		pause();
}

static void print_ignored(char **arguments)
{
	(void)arguments;
	sigset_t blocked;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	printf("ignored");
	for (int number = 1; number < 65; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			printf(" %d", number);
	}
	printf(" blocked");
	for (int number = 1; number < 65; number++) {
		if (sigismember(&blocked, number) == 1)
			printf(" %d", number);
	}
	printf("\n");
}

/* A raw socket and a port below 1024: what only a capability over the network gives. */
static void try_network(char **arguments)
{
	(void)arguments;
	const struct sockaddr_in low = {
		.sin_family = AF_INET,
		.sin_port = htons(80),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	printf("raw %s", raw >= 0 ? "ok" : strerror(errno));
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	printf(", port 80 %s\n",
	       bind(tcp, (const struct sockaddr *)&low, sizeof(low)) == 0 ? "ok" : strerror(errno));
}

static sem_t announced;

static void *call_mkdir(void *unused)
{
	mkdir("/tmp/made", 0700); /* a filter may kill this thread here */
	sem_post(&announced);
	return unused;
}

/* Wait for the word of a thread that may never come back. */
static void wait_for_thread(char **arguments)
{
	(void)arguments;
	pthread_t thread;
	sem_init(&announced, 0, 0);
	pthread_create(&thread, NULL, call_mkdir, NULL);
	sem_wait(&announced);
	printf("announced\n");
}

/* Memory that is the kernel's: full pipes, as many as there can be. */
static void hog_pipes(char **arguments)
{
	static char page[4096];
	(void)arguments;
	for (;;) {
		if (fork() < 0)
			pause();
		int ends[2];
		while (pipe(ends) == 0) {
			fcntl(ends[1], F_SETFL, O_NONBLOCK);
			while (write(ends[1], page, sizeof(page)) > 0)
				;
		}
	}
}

/* A System V segment by its id: what another IPC namespace has is not there. */
static void attach_segment(char **arguments)
{
	void *memory = shmat(atoi(arguments[0]), NULL, 0);
	printf("%s\n", (intptr_t)memory == -1 ? strerror(errno) : "attached");
}

/* Shared memory of both kinds that nobody frees. */
static void leave_shared_memory(char **arguments)
{
	(void)arguments;
	size_t size = (size_t)32 * MIB;
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	void *memory = shmat(id, NULL, 0);
	int fd = open("/dev/shm/left", O_RDWR | O_CREAT, 0600);
	memset(memory, 1, size);
	if (ftruncate(fd, (off_t)size) == 0)
		memset(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 1, size);
	printf("left\n");
}

/* Create, rename and remove entries as fast as can be, for so many milliseconds. */
static void churn(char **arguments)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	long long end = now.tv_sec * 1000LL + now.tv_nsec / 1000000 + atoi(arguments[0]);
	for (unsigned int i = 0; now.tv_sec * 1000LL + now.tv_nsec / 1000000 < end; i++) {
		char name[32], other[32];
		snprintf(name, sizeof(name), "churn%u", i % 64);
		snprintf(other, sizeof(other), "churn%u", (i * 7 + 3) % 64);
		switch (i % 5) {
		case 0:
			mkdir(name, 0700);
			break;
		case 1:
			close(open(name, O_WRONLY | O_CREAT, 0600));
			break;
		case 2:
			(void)!symlink("/etc/shadow", name);
			break;
		case 3:
			rename(name, other);
			break;
		default:
			remove(other);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	for (unsigned int i = 0; i < 64; i++) {
		char name[32];
		snprintf(name, sizeof(name), "churn%u", i);
		remove(name);
	}
}

static const struct {
	const char *name;
	void (*action)(char **arguments);
} actions[] = {
	{"fork-bomb", fork_bomb},
	{"hog-alone", hog_alone},
	{"hog-family", hog_family},
	{"hog-tmpfs", hog_tmpfs},
	{"flood", flood},
	{"orphan", orphan},
	{"stop-all", stop_all},
	{"breed", breed},
	{"deaf", deaf},
	{"signals", print_ignored},
	{"network", try_network},
	{"thread", wait_for_thread},
	{"hog-pipes", hog_pipes},
	{"attach", attach_segment},
	{"leave-shm", leave_shared_memory},
	{"churn", churn},
	{"hog-inotify", hog_inotify},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(argv[1], actions[i].name) == 0) {
			actions[i].action(argv + 2);
			return 0;
		}
	}
	fprintf(stderr, "probe_hostile: no such action\n");
	return 2;
}
