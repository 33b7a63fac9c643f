/*
 * Try what a payload must not be able to do, one system call a line, and print the errno it got (or
 * "ok"). Calls are made with arguments that would work, or fail otherwise, without the filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

static void print_result(const char *name, long result)
{
	printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
}

#define TRY(name, ...) print_result(name, syscall(__VA_ARGS__))

static long try_clone_flags(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

/* What kills a process is tried in a child of its own. */
static void try_fatal(const char *name, void (*action)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		action();
		_exit(0);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
	else
		printf("%s exited %d\n", name, WEXITSTATUS(status));
}

static void enter_i386(void)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
}

static void enter_x32(void)
{
	syscall(0x40000000 + SYS_getpid);
}

static void try_sockets(void)
{
	TRY("socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	TRY("socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0);
	TRY("socket inet6", SYS_socket, AF_INET6, SOCK_STREAM, 0);
	TRY("socket netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	TRY("socket netlink uevent", SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
	TRY("socket mptcp", SYS_socket, AF_INET, SOCK_STREAM, 262);
	TRY("socket packet", SYS_socket, AF_PACKET, SOCK_RAW, 0);
	TRY("socket vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0);
	TRY("socket alg", SYS_socket, AF_ALG, SOCK_SEQPACKET, 0);
	TRY("socket 64-bit family", SYS_socket, 0x100000011UL, SOCK_RAW, 0);
}

static void try_ioctls(void)
{
	int line_discipline = 0;
	TRY("ioctl TIOCSTI", SYS_ioctl, 0, TIOCSTI, "x");
	TRY("ioctl TIOCSTI 64-bit", SYS_ioctl, 0, 0x100000000UL | TIOCSTI, "x");
	TRY("ioctl TIOCLINUX", SYS_ioctl, 0, 0x541C, "x");
	TRY("ioctl TIOCSETD", SYS_ioctl, 0, TIOCSETD, &line_discipline);
}

/* Modes with set-id bits; `buffer` holds zeros. */
static void try_modes(char *buffer)
{
	TRY("creat set-id", SYS_creat, "/tmp/set-id", 04755);
	TRY("creat", SYS_creat, "/tmp/set-id", 0755);
	TRY("chmod set-id", SYS_chmod, "/tmp/set-id", 04755);
	TRY("fchmodat set-group-id", SYS_fchmodat, AT_FDCWD, "/tmp/set-id", 02755);
	TRY("openat set-id", SYS_openat, AT_FDCWD, "/tmp/new", O_CREAT | O_RDWR, 06755);
	TRY("openat tmpfile set-id", SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 04755);
	TRY("openat2", SYS_openat2, AT_FDCWD, "/tmp", buffer, 24);
	TRY("mknod set-id", SYS_mknod, "/tmp/node", S_IFREG | 04755, 0);
	TRY("mkdir set-group-id", SYS_mkdir, "/tmp/directory", 02755);
}

/* The host's, and the init. */
static void try_what_is_shared(char *buffer)
{
	TRY("io_setup", SYS_io_setup, 1, buffer);
	TRY("prlimit init", SYS_prlimit64, 1, 0, NULL, buffer);
	TRY("setpriority init", SYS_setpriority, 0, 1, 10);
	TRY("sched_setaffinity init", SYS_sched_setaffinity, 1, 8, buffer);
	TRY("kcmp", SYS_kcmp, getpid(), getpid(), 0, 0, 0);
}

/* With an argument only the entries of other architectures, to see what the kernel itself says. */
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		try_fatal("i386 entry", enter_i386);
		return 0;
	}
	char buffer[512] = {0};
	struct iovec own = {buffer, 1}, others = {(void *)0x401000, 1};
	struct clone_args new_user = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

	TRY("keyctl", SYS_keyctl, 0, -3, 0, 0, 0);
	TRY("add_key", SYS_add_key, "user", "x", "y", 1, -3);
	TRY("request_key", SYS_request_key, "user", "x", NULL, -3);
	TRY("bpf", SYS_bpf, 0, buffer, 120);
	TRY("userfaultfd", SYS_userfaultfd, 1);
	TRY("perf_event_open", SYS_perf_event_open, buffer, 0, -1, -1, 0);
	TRY("io_uring_setup", SYS_io_uring_setup, 4, buffer);
	TRY("unshare user", SYS_unshare, CLONE_NEWUSER);
	TRY("unshare mount", SYS_unshare, CLONE_NEWNS);
	TRY("unshare files", SYS_unshare, CLONE_FILES);
	print_result("clone user", try_clone_flags(CLONE_NEWUSER));
	print_result("clone net", try_clone_flags(CLONE_NEWNET));
	print_result("clone plain", try_clone_flags(0));
	TRY("clone3 user", SYS_clone3, &new_user, sizeof(new_user));
	TRY("setns", SYS_setns, 0, 0);
	TRY("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, NULL);
	TRY("umount2", SYS_umount2, "/tmp", 0);
	TRY("open_tree", SYS_open_tree, AT_FDCWD, "/", 0);
	TRY("move_mount", SYS_move_mount, 0, "", 0, "", 0);
	TRY("fsopen", SYS_fsopen, "tmpfs", 0);
	TRY("mount_setattr", SYS_mount_setattr, AT_FDCWD, "/", 0, buffer, 32);
	TRY("pivot_root", SYS_pivot_root, "/", "/");
	TRY("chroot", SYS_chroot, "/");
	TRY("mknod device", SYS_mknod, "/tmp/device", S_IFCHR | 0666, makedev(1, 1));
	TRY("open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, buffer, 0);
	TRY("init_module", SYS_init_module, buffer, 1, "");
	TRY("finit_module", SYS_finit_module, 0, "", 0);
	TRY("kexec_load", SYS_kexec_load, 0, 0, 0, 0);
	TRY("reboot", SYS_reboot, 0, 0, 0, 0);
	TRY("swapon", SYS_swapon, "/tmp", 0);
	TRY("syslog", SYS_syslog, 10, NULL, 0);
	TRY("settimeofday", SYS_settimeofday, NULL, NULL);
	TRY("clock_settime", SYS_clock_settime, 0, NULL);
	TRY("sethostname", SYS_sethostname, "x", 1);
	TRY("quotactl", SYS_quotactl, 0, NULL, 0, NULL);
	TRY("acct", SYS_acct, NULL);
	TRY("iopl", SYS_iopl, 3);
	TRY("modify_ldt", SYS_modify_ldt, 0, buffer, 16);
	TRY("personality query", SYS_personality, 0xffffffff);
	TRY("personality read-implies-exec", SYS_personality, 0x0400000);
	TRY("ptrace init", SYS_ptrace, PTRACE_ATTACH, 1, 0, 0);
	TRY("ptrace me", SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
	TRY("process_vm_writev init", SYS_process_vm_writev, 1, &own, 1, &others, 1, 0);
	TRY("kill init", SYS_kill, 1, SIGKILL);
	try_sockets();
	try_ioctls();
	try_modes(buffer);
	try_what_is_shared(buffer);
	TRY("unknown call", 1000);
	TRY("getpid", SYS_getpid);
	try_fatal("i386 entry", enter_i386);
	try_fatal("x32 entry", enter_x32);
	return 0;
}
