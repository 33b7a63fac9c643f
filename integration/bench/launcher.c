/*
 * Launch loops, for the benchmark:
 *	launcher vfork ROUNDS PROGRAM		vfork, exec, wait
 *	launcher engine ROUNDS PROGRAM		iso_engine_run, everything isorun does
 *	launcher floor ROUNDS PROGRAM OPS	the same namespaces and mounts, nothing supervised
 *	launcher crowd THREADS ROUNDS PROGRAM	engines in threads; prints launches a second
 * Each round's microseconds are printed, a line each. OPS lists a plan's file system operations, as
 * integration/bench/run writes them: KIND TARGET SOURCE.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/isorun.h"

#define STACK_SIZE  (64 * 1024)
#define REC_PRIVATE (0x4000UL | 0x40000UL)
#define DETACH	    2
#define RECURSIVE   0x8000

static const char *program;

static long long now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void run_vfork(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		execl(program, program, NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static iso_engine *engine;

static void run_engine_on(iso_engine *one)
{
	const char *argv[] = {program, NULL};
	struct iso_request request;
	struct iso_error err = {0};
	iso_result *result = NULL;
	iso_request_init(&request);
	request.argv = argv;
	request.workspace = "/tmp/isorun-bench";
	if (iso_engine_run(one, &request, &result, &err) < 0 || iso_result_exit_code(result) != 0) {
		fprintf(stderr, "launcher: %s\n",
			result != NULL && iso_result_error(result) != NULL
				? iso_result_error(result)->message
				: err.message);
		exit(1);
	}
	iso_result_free(result);
}

static void run_engine(void)
{
	run_engine_on(engine);
}

/* --- the floor: what cannot be had for less */

struct op {
	char kind[16], target[256], source[256];
};
static struct op ops[128];
static int op_count;
static char stack[STACK_SIZE] __attribute__((aligned(16)));

static void read_ops(const char *path)
{
	FILE *file = fopen(path, "r");
	while (file != NULL && op_count < 128 &&
	       fscanf(file, "%15s %255s %255s", ops[op_count].kind, ops[op_count].target,
		      ops[op_count].source) == 3)
		op_count++;
	if (file != NULL)
		fclose(file);
}

static void apply(int root, const struct op *op)
{
	const char *target = op->target + 1;
	if (strcmp(op->kind, "directory") == 0) {
		mkdirat(root, target, 0755);
	} else if (strcmp(op->kind, "symlink") == 0) {
		(void)!symlinkat(op->source, root, target);
	} else if (strcmp(op->kind, "file") == 0) {
		close(openat(root, target, O_WRONLY | O_CREAT, 0644));
	} else if (strcmp(op->kind, "device") == 0) {
		mknodat(root, target, S_IFCHR | 0666, makedev(1, 3));
	} else if (strcmp(op->kind, "bind") == 0) {
		int tree = (int)syscall(SYS_open_tree, AT_FDCWD, op->source,
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | RECURSIVE);
		struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
		syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | RECURSIVE, &attr,
			sizeof(attr));
		syscall(SYS_move_mount, tree, "", root, target, MOVE_MOUNT_F_EMPTY_PATH);
		close(tree);
	} else if (strcmp(op->kind, "tmpfs") == 0 || strcmp(op->kind, "proc") == 0 ||
		   strcmp(op->kind, "devpts") == 0) {
		syscall(SYS_mount, op->kind, target, op->kind, 0UL,
			strcmp(op->kind, "devpts") == 0 ? "newinstance,ptmxmode=0666" : NULL);
	} else if (strcmp(op->kind, "mask") == 0 || strcmp(op->kind, "protect") == 0) {
		syscall(SYS_mount, "/dev/null", target, NULL, 4096UL, NULL);
	}
}

static int floor_child(void *unused)
{
	(void)unused;
	syscall(SYS_mount, NULL, "/", NULL, REC_PRIVATE, NULL);
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH);
	syscall(SYS_fchdir, root);
	for (int i = 0; i < op_count; i++)
		apply(root, &ops[i]);
	(void)!sethostname("floor", 5);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	ioctl(fd, SIOCSIFFLAGS, &up);
	syscall(SYS_pivot_root, ".", ".");
	syscall(SYS_umount2, ".", DETACH);
	if (chdir("/") < 0)
		_exit(126);
	syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWCGROUP);
	pid_t pid = vfork(); /* the payload is not PID 1 here either */
	if (pid == 0) {
		execl(program, program, NULL);
		_exit(127);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	_exit(WEXITSTATUS(status));
}

static void run_floor(void)
{
	int status;
	pid_t pid = clone(floor_child, stack + STACK_SIZE,
			  CLONE_VM | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
				  CLONE_NEWUTS | SIGCHLD,
			  NULL);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "launcher: the floor failed: %d\n", pid < 0 ? errno : status);
		exit(1);
	}
}

static void *run_many(void *argument)
{
	iso_engine *own = NULL;
	struct iso_error err = {0};
	if (iso_engine_new(&own, &err) < 0)
		exit(1);
	for (int i = *(int *)argument; i > 0; i--)
		run_engine_on(own);
	iso_engine_free(own);
	return NULL;
}

static int run_crowd(int threads, int rounds)
{
	pthread_t ids[256];
	long long start = now_us();
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run_many, &rounds);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%.1f\n", threads * rounds / ((double)(now_us() - start) / 1e6));
	return 0;
}

int main(int argc, char **argv)
{
	struct iso_error err = {0};
	if (argc < 4)
		return 2;
	program = argv[strcmp(argv[1], "crowd") == 0 ? 4 : 3];
	if (strcmp(argv[1], "crowd") == 0)
		return run_crowd(atoi(argv[2]), atoi(argv[3]));
	void (*run)(void) = strcmp(argv[1], "vfork") == 0    ? run_vfork
			    : strcmp(argv[1], "engine") == 0 ? run_engine
							     : run_floor;
	if (run == run_engine && iso_engine_new(&engine, &err) < 0)
		return 1;
	if (run == run_floor)
		read_ops(argv[4]);
	for (int i = atoi(argv[2]); i > 0; i--) {
		long long start = now_us();
		run();
		printf("%lld\n", now_us() - start);
	}
	iso_engine_free(engine);
	return 0;
}
