/*
 * Why others are not here: namespaces and mounts (setns, mount, fsopen, pivot_root, …) would rebuild
 * what the sandbox took away and open the kernel's largest attack surface; keyrings are not
 * namespaced; bpf, perf_event_open, userfaultfd and io_uring are rich sources of kernel faults, and
 * io_uring also does filtered work unfiltered; modules, kexec, clocks, swap and quota are the host's.
 */
#include "sandbox/seccomp_profile.h"

#include <errno.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const iso_seccomp_allowed[] = {
	/* files and directories */
	"read", "write", "open", "close", "stat", "fstat", "lstat", "lseek", "pread64", "pwrite64",
	"readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2", "access", "faccessat",
	"faccessat2", "fchmodat2", "cachestat", "openat", "openat2", "creat", "newfstatat", "statx", "getdents", "getdents64",
	"getcwd", "chdir", "fchdir", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir",
	"link", "linkat", "unlink", "unlinkat", "symlink", "symlinkat", "readlink", "readlinkat",
	"chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "umask", "mknod",
	"mknodat", "utime", "utimes", "utimensat", "futimesat", "truncate", "ftruncate", "fallocate",
	"fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "fadvise64", "readahead", "flock",
	"statfs", "fstatfs", "close_range", "name_to_handle_at", "setxattr", "lsetxattr",
	"fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
	"removexattr", "lremovexattr", "fremovexattr", "sendfile", "splice", "tee", "vmsplice",
	"copy_file_range", "dup", "dup2", "dup3", "fcntl", "pipe", "pipe2", "memfd_create",
	"memfd_secret", "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
	"io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents",
	"eventfd", "eventfd2",
	/* waiting */
	"poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl",
	"epoll_wait", "epoll_pwait", "epoll_pwait2",
	/* memory */
	"brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "process_madvise", "msync",
	"mincore", "mlock", "mlock2", "munlock", "mlockall", "munlockall", "remap_file_pages",
	"pkey_alloc", "pkey_free", "pkey_mprotect", "membarrier", "mbind", "set_mempolicy",
	"get_mempolicy", "process_mrelease",
	/* processes and threads */
	"execve", "execveat", "exit", "exit_group", "fork", "vfork", "wait4", "waitid", "kill",
	"tkill", "tgkill", "getpid", "getppid", "gettid", "getpgid", "getpgrp", "setpgid", "getsid",
	"setsid", "set_tid_address", "set_robust_list", "get_robust_list", "rseq", "futex",
	"futex_waitv", "futex_wake", "futex_wait", "futex_requeue", "arch_prctl", "prctl", "ptrace", "process_vm_readv", "process_vm_writev",
	"kcmp", "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "sched_yield",
	"sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_setparam",
	"sched_getscheduler", "sched_setscheduler", "sched_getattr", "sched_setattr",
	"sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "getpriority",
	"setpriority", "ioprio_get", "ioprio_set", "getcpu", "getrlimit", "setrlimit", "prlimit64",
	"getrusage", "times", "seccomp", "landlock_create_ruleset", "landlock_add_rule",
	"landlock_restrict_self",
	/* signals and timers */
	"rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "signalfd", "signalfd4",
	"pause", "alarm", "getitimer", "setitimer", "timer_create", "timer_delete", "timer_gettime",
	"timer_settime", "timer_getoverrun", "timerfd_create", "timerfd_gettime",
	"timerfd_settime", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
	"gettimeofday", "time", "restart_syscall",
	/* identity: without capabilities these change nothing that matters */
	"getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "setuid",
	"setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
	"setgroups", "capget", "capset",
	/* sockets (their families are chosen below) */
	"connect", "bind", "listen", "accept", "accept4", "getsockname", "getpeername",
	"getsockopt", "setsockopt", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg",
	"recvmmsg", "shutdown",
	/* System V and POSIX IPC, in a namespace of their own */
	"shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget",
	"msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive",
	"mq_notify", "mq_getsetattr",
	/* the rest */
	"uname", "sysinfo", "getrandom",
	NULL,
};

/* clone3 hides its flags behind a pointer: ENOSYS makes libc use clone. */
const char *const iso_seccomp_absent[] = {"clone3", NULL};

static const uint64_t socket_families[] = {AF_UNIX, AF_INET, AF_INET6};
static const uint64_t socketpair_families[] = {AF_UNIX};
/* PER_LINUX, PER_LINUX32, UNAME26, both, ADDR_NO_RANDOMIZE (debuggers), and the query. */
static const uint64_t personalities[] = {0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff};

#define CHOICE(call, index, values, error)                                                         \
	{                                                                                          \
		call, index, values, COUNT(values), error                                          \
	}

const struct iso_seccomp_choice iso_seccomp_choices[] = {
	CHOICE("socket", 0, socket_families, EAFNOSUPPORT),
	CHOICE("socketpair", 0, socketpair_families, EAFNOSUPPORT),
	CHOICE("personality", 0, personalities, 0),
};
const unsigned int iso_seccomp_choice_count = COUNT(iso_seccomp_choices);

#define NAMESPACE_FLAGS                                                                            \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

const struct iso_seccomp_flags iso_seccomp_flag_rules[] = {
	{"clone", 0, NAMESPACE_FLAGS}, /* its low byte is the exit signal, not CLONE_NEWTIME */
	{"unshare", 0, NAMESPACE_FLAGS | CLONE_NEWTIME},
};
const unsigned int iso_seccomp_flag_rule_count = COUNT(iso_seccomp_flag_rules);

/* Typing into a terminal, directly or through the console's own call. */
const uint32_t iso_seccomp_ioctls[] = {TIOCSTI, TIOCLINUX};
const unsigned int iso_seccomp_ioctl_count = COUNT(iso_seccomp_ioctls);
