/*
 * Execute a program on a kernel that refuses some system calls, as old kernels (ENOSYS) and the
 * filters of container engines do:
 *	probe_refuse ERRNO-NAME CALL[:INDEX=VALUE]… -- PROGRAM ARGUMENT…
 * With INDEX=VALUE only when the low half of that argument has that value.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name)                \
	{                         \
#name, SYS_##name \
	}

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	CALL(clone3),
	CALL(clone),
	CALL(openat2),
	CALL(close_range),
	CALL(mount_setattr),
	CALL(open_tree),
	CALL(fsopen),
	CALL(fsmount),
	CALL(move_mount),
	CALL(pidfd_open),
	CALL(unshare),
	CALL(mount),
	CALL(socket),
	CALL(write),
	CALL(seccomp),
	CALL(memfd_create),
	CALL(execveat),
	CALL(pivot_root),
	CALL(sethostname),
	CALL(pidfd_send_signal),
	CALL(landlock_create_ruleset),
};

static const struct {
	const char *name;
	unsigned int number;
} errors[] = {
	{"ENOSYS", ENOSYS}, {"EPERM", EPERM},	{"EACCES", EACCES},
	{"EINVAL", EINVAL}, {"ENOSPC", ENOSPC}, {"EAFNOSUPPORT", EAFNOSUPPORT},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define LOAD(offset)                                                   \
	(struct sock_filter)                                           \
	{                                                              \
		BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned int)(offset) \
	}

static struct sock_filter program[256];
static unsigned short length;

/* Unless the loaded word is `value`, skip `count` instructions. */
static void unless_equal(unsigned int value, unsigned char count)
{
	program[length++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, count, value};
}

static unsigned int number_of_call(const char *name, size_t size)
{
	for (size_t i = 0; i < LENGTH(calls); i++) {
		if (strlen(calls[i].name) == size && strncmp(calls[i].name, name, size) == 0)
			return calls[i].number;
	}
	fprintf(stderr, "probe_refuse: unknown call %s\n", name);
	exit(2);
}

static void refuse(const char *word, unsigned int error)
{
	const char *colon = strchr(word, ':');
	unsigned int call =
		number_of_call(word, colon != NULL ? (size_t)(colon - word) : strlen(word));
	program[length++] = LOAD(offsetof(struct seccomp_data, nr));
	unless_equal(call, colon != NULL ? 3 : 1);
	if (colon != NULL) {
		char *equals;
		unsigned long index = strtoul(colon + 1, &equals, 10);
		program[length++] = LOAD(offsetof(struct seccomp_data, args) + 8 * index);
		unless_equal((unsigned int)strtoul(equals + 1, NULL, 0), 1);
	}
	program[length++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error};
}

int main(int argc, char **argv)
{
	unsigned int error = 0;
	int next = 2;
	for (size_t i = 0; argc > 3 && i < LENGTH(errors); i++) {
		if (strcmp(errors[i].name, argv[1]) == 0)
			error = errors[i].number;
	}
	if (error == 0)
		return 2;
	for (; next < argc && strcmp(argv[next], "--") != 0; next++)
		refuse(argv[next], error);
	program[length++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	const struct sock_fprog filter = {length, program};
	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		perror("probe_refuse: seccomp");
		return 2;
	}
	execvp(argv[next + 1], argv + next + 1);
	perror("probe_refuse: exec");
	return 2;
}
