/*
 * Why others are not here: namespaces and mounts (setns, mount, fsopen, pivot_root, …) would
 * rebuild what the sandbox took away and open the kernel's largest attack surface; keyrings are not
 * namespaced; bpf, perf_event_open, userfaultfd and io_uring are rich sources of kernel faults, and
 * io_uring does filtered work unfiltered, too; modules, kexec, clocks, swap, quota are the host's.
 * So is what a sync writes and where memory lies on its nodes (mbind); kcmp and pidfd_getfd look
 * into other processes, and memfd_secret takes memory that nobody can reclaim or look at.
 */
#include "sandbox/filter/seccomp_profile.h"

#include <errno.h>
#include <linux/in.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "runner/base/array.h"

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

const char *const iso_seccomp_allowed[] = {
	/* files and directories */
	"read",
	"write",
	"close",
	"stat",
	"fstat",
	"lstat",
	"lseek",
	"pread64",
	"pwrite64",
	"readv",
	"writev",
	"preadv",
	"pwritev",
	"preadv2",
	"pwritev2",
	"access",
	"faccessat",
	"faccessat2",
	"cachestat",
	"newfstatat",
	"statx",
	"getdents",
	"getdents64",
	"getcwd",
	"chdir",
	"fchdir",
	"rename",
	"renameat",
	"renameat2",
	"mkdir",
	"mkdirat",
	"rmdir",
	"link",
	"linkat",
	"unlink",
	"unlinkat",
	"symlink",
	"symlinkat",
	"readlink",
	"readlinkat",
	"chown",
	"fchown",
	"lchown",
	"fchownat",
	"umask",
	"utime",
	"utimes",
	"utimensat",
	"futimesat",
	"truncate",
	"ftruncate",
	"fallocate",
	"fsync",
	"fdatasync",
	"syncfs",
	"sync_file_range",
	"fadvise64",
	"readahead",
	"flock",
	"statfs",
	"fstatfs",
	"close_range",
	"name_to_handle_at",
	"setxattr",
	"lsetxattr",
	"fsetxattr",
	"getxattr",
	"lgetxattr",
	"fgetxattr",
	"listxattr",
	"llistxattr",
	"flistxattr",
	"removexattr",
	"lremovexattr",
	"fremovexattr",
	"sendfile",
	"splice",
	"tee",
	"vmsplice",
	"copy_file_range",
	"dup",
	"dup2",
	"dup3",
	"fcntl",
	"pipe",
	"pipe2",
	"memfd_create",
	"inotify_init",
	"inotify_init1",
	"inotify_add_watch",
	"inotify_rm_watch",
	"eventfd",
	"eventfd2",
	/* waiting */
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"epoll_create",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	/* memory */
	"brk",
	"mmap",
	"munmap",
	"mremap",
	"mprotect",
	"madvise",
	"process_madvise",
	"msync",
	"mincore",
	"mlock",
	"mlock2",
	"munlock",
	"mlockall",
	"munlockall",
	"remap_file_pages",
	"pkey_alloc",
	"pkey_free",
	"pkey_mprotect",
	"membarrier",
	"set_mempolicy",
	"get_mempolicy",
	"process_mrelease",
	/* processes and threads */
	"execve",
	"execveat",
	"exit",
	"exit_group",
	"fork",
	"vfork",
	"wait4",
	"waitid",
	"kill",
	"tkill",
	"tgkill",
	"getpid",
	"getppid",
	"gettid",
	"getpgid",
	"getpgrp",
	"setpgid",
	"getsid",
	"setsid",
	"set_tid_address",
	"set_robust_list",
	"get_robust_list",
	"rseq",
	"futex",
	"futex_waitv",
	"futex_wake",
	"futex_wait",
	"futex_requeue",
	"arch_prctl",
	"prctl",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"pidfd_open",
	"pidfd_send_signal",
	"sched_yield",
	"sched_getaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"sched_getattr",
	"sched_get_priority_max",
	"sched_get_priority_min",
	"sched_rr_get_interval",
	"getpriority",
	"ioprio_get",
	"getcpu",
	"getrlimit",
	"setrlimit",
	"getrusage",
	"times",
	"seccomp",
	"landlock_create_ruleset",
	"landlock_add_rule",
	"landlock_restrict_self",
	/* signals and timers */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigpending",
	"rt_sigqueueinfo",
	"rt_tgsigqueueinfo",
	"rt_sigreturn",
	"rt_sigsuspend",
	"rt_sigtimedwait",
	"sigaltstack",
	"signalfd",
	"signalfd4",
	"pause",
	"alarm",
	"getitimer",
	"setitimer",
	"timer_create",
	"timer_delete",
	"timer_gettime",
	"timer_settime",
	"timer_getoverrun",
	"timerfd_create",
	"timerfd_gettime",
	"timerfd_settime",
	"nanosleep",
	"clock_nanosleep",
	"clock_gettime",
	"clock_getres",
	"gettimeofday",
	"time",
	"restart_syscall",
	/* identity: without capabilities these change nothing that matters */
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getresuid",
	"getresgid",
	"getgroups",
	"setuid",
	"setgid",
	"setreuid",
	"setregid",
	"setresuid",
	"setresgid",
	"setfsuid",
	"setfsgid",
	"setgroups",
	"capget",
	"capset",
	/* sockets (their families are chosen below) */
	"connect",
	"bind",
	"listen",
	"accept",
	"accept4",
	"getsockname",
	"getpeername",
	"getsockopt",
	"setsockopt",
	"sendto",
	"recvfrom",
	"sendmsg",
	"recvmsg",
	"sendmmsg",
	"recvmmsg",
	"shutdown",
	/* System V and POSIX IPC, in a namespace of their own */
	"shmget",
	"shmat",
	"shmdt",
	"shmctl",
	"semget",
	"semop",
	"semtimedop",
	"semctl",
	"msgget",
	"msgsnd",
	"msgrcv",
	"msgctl",
	"mq_open",
	"mq_unlink",
	"mq_timedsend",
	"mq_timedreceive",
	"mq_notify",
	"mq_getsetattr",
	/* the rest */
	"uname",
	"sysinfo",
	"getrandom",
	NULL,
};

/*
 * clone3 hides its flags behind a pointer, and openat2 its mode: ENOSYS makes programs use clone
 * and openat. Asynchronous I/O of the old kind takes from a number that the whole host shares.
 */
const char *const iso_seccomp_absent[] = {
	"clone3",    "openat2",	     "io_setup",      "io_destroy", "io_submit",
	"io_cancel", "io_getevents", "io_pgetevents", NULL,
};

/* A directory made by mkdir is left alone: the kernel drops the bits there. */
const struct iso_seccomp_mode iso_seccomp_modes[] = {
	{"chmod", 1, -1},     {"fchmod", 1, -1},   {"creat", 1, -1},
	{"mknod", 1, -1},     {"fchmodat", 2, -1}, {"open", 2, 1},
	{"fchmodat2", 2, -1}, {"mknodat", 2, -1},  {"openat", 3, 2},
};
const unsigned int iso_seccomp_mode_count = ISO_COUNT(iso_seccomp_modes);

const struct iso_seccomp_target iso_seccomp_targets[] = {
	{"prlimit64", 0},	   {"sched_setaffinity", 0}, {"sched_setparam", 0},
	{"sched_setscheduler", 0}, {"sched_setattr", 0},     {"setpriority", 1},
	{"ioprio_set", 1},
};
const unsigned int iso_seccomp_target_count = ISO_COUNT(iso_seccomp_targets);

/* Of netlink only the part that tells of the payload's own network. Of the internet's protocols not
 * those that the host may load a module for. */
const struct iso_seccomp_family iso_seccomp_families[] = {
	{AF_UNIX, UINT32_MAX},
	{AF_INET, IPPROTO_RAW},
	{AF_INET6, IPPROTO_RAW},
	{AF_NETLINK, NETLINK_ROUTE},
};
const unsigned int iso_seccomp_family_count = ISO_COUNT(iso_seccomp_families);
const uint32_t iso_seccomp_protocols_refused[] = {IPPROTO_DCCP, IPPROTO_L2TP, IPPROTO_SCTP,
						  IPPROTO_UDPLITE};
const unsigned int iso_seccomp_protocol_refused_count = ISO_COUNT(iso_seccomp_protocols_refused);

static const uint64_t socketpair_families[] = {AF_UNIX};
/* PER_LINUX, PER_LINUX32, UNAME26, both, ADDR_NO_RANDOMIZE (debuggers), and the query. */
static const uint64_t personalities[] = {0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff};

#define CHOICE(call, index, values, error)                    \
	{                                                     \
		call, index, values, ISO_COUNT(values), error \
	}

const struct iso_seccomp_choice iso_seccomp_choices[] = {
	CHOICE("socketpair", 0, socketpair_families, EAFNOSUPPORT),
	CHOICE("personality", 0, personalities, 0),
};
const unsigned int iso_seccomp_choice_count = ISO_COUNT(iso_seccomp_choices);

#define NAMESPACE_FLAGS                                                                \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

const struct iso_seccomp_flags iso_seccomp_flag_rules[] = {
	{"clone", 0, NAMESPACE_FLAGS}, /* its low byte is the exit signal, not CLONE_NEWTIME */
	{"unshare", 0, NAMESPACE_FLAGS | CLONE_NEWTIME},
};
const unsigned int iso_seccomp_flag_rule_count = ISO_COUNT(iso_seccomp_flag_rules);

/* Typing into a terminal, directly or through the console's own call; and line disciplines, for
 * which the host loads modules. */
const uint32_t iso_seccomp_ioctls[] = {TIOCSTI, TIOCLINUX, TIOCSETD};
const unsigned int iso_seccomp_ioctl_count = ISO_COUNT(iso_seccomp_ioctls);
