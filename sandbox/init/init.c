/*
 * PID 1 of a run: a static program without libc, embedded in isorun and executed from a sealed
 * memfd, so that /proc/1/exe is nothing of the host's.
 *
 * It takes on the payload's identity, drops every privilege, starts the payload in a session of its
 * own, forwards signals to it, reaps whatever is orphaned to it, reports the payload's wait status,
 * and ends (and with it, by the kernel, everything in the namespace) when isorun dies. It watches
 * isorun through a pidfd: that tells of the process and not of one of its threads, and unlike a
 * pipe cannot be kept open by somebody else's fork.
 *
 * It stays undumpable, so that a payload of the same uid cannot trace it or open its descriptors.
 */
#include <asm/termios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <linux/sockios.h>
#include <linux/wait.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/child/rawcall.h"
#include "sandbox/init/init.h"

#define SIGNAL_COUNT	       64
#define SIGNAL_BIT(n)	       (1UL << ((n)-1))
#define CAPABILITY_BIT(number) (1ULL << (number))
#define CAPABILITY_COUNT       64 /* PR_CAPBSET_DROP says EINVAL beyond the kernel's last */
#define SECURE_BITS                                                                              \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                         \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* The kernel's struct sigaction, which libc's is not. */
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

union iso_init_message iso_init_message;

/* The payload's side of its terminal, or -1. */
long iso_init_terminal = -1;

/* Written by the payload process, which shares this memory until its exec. */
volatile struct iso_record iso_init_spawn_failure;

/* The compiler may ask for these. */
void *memcpy(void *target, const void *source, size_t size);
void *memset(void *target, int byte, size_t size);

void *memcpy(void *target, const void *source, size_t size)
{
	char *to = target;
	const char *from = source;
	while (size-- > 0)
		*to++ = *from++;
	return target;
}

void *memset(void *target, int byte, size_t size)
{
	char *to = target;
	while (size-- > 0)
		*to++ = (char)byte;
	return target;
}

void iso_init_quit(int code)
{
	(void)iso_raw1(SYS_exit_group, code);
	for (;;)
		__builtin_trap(); /* a custom filter refused even that */
}

static void send_record(const struct iso_record *record)
{
	(void)iso_raw6(SYS_sendto, ISO_INIT_FD_CONTROL, ISO_ARG(record), sizeof(*record),
		       MSG_NOSIGNAL, 0, 0); /* isorun gone: the poll below notices */
}

static void fail(enum iso_step step, long result) __attribute__((noreturn));

static void fail(enum iso_step step, long result)
{
	const struct iso_record record = {
		.type = ISO_RECORD_FAILED,
		.step = step,
		.value = (int32_t)-result,
	};
	send_record(&record);
	iso_init_quit(1);
}

static void check(enum iso_step step, long result)
{
	if (result < 0)
		fail(step, result);
}

/* Receive the configuration. A descriptor that comes with it is only held: the lock of the
 * payload's host ids, for as long as this process lives. */
static void receive_config(void)
{
	const enum iso_step step = ISO_STEP_INIT_CONFIG;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {iso_init_message.bytes, sizeof(iso_init_message.bytes)};
	struct msghdr envelope = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	long size =
		iso_raw3(SYS_recvmsg, ISO_INIT_FD_CONTROL, ISO_ARG(&envelope), MSG_CMSG_CLOEXEC);
	check(step, size);
	if ((size_t)size < sizeof(iso_init_message.config) ||
	    iso_init_message.config.tag != ISO_INIT_CONFIG_TAG ||
	    iso_init_message.config.size != (size_t)size)
		fail(step, -EPROTO);
	check(step, iso_raw3(SYS_fcntl, ISO_INIT_FD_CONTROL, F_SETFD, FD_CLOEXEC));
	check(step, iso_raw3(SYS_fcntl, ISO_INIT_FD_PARENT, F_SETFD, FD_CLOEXEC));
}

/* What the caller of isorun ignored must not be ignored in the payload. */
static void reset_dispositions(void)
{
	const struct kernel_sigaction standard = {0};
	for (long number = 1; number <= SIGNAL_COUNT; number++)
		(void)iso_raw4(SYS_rt_sigaction, number, ISO_ARG(&standard), 0,
			       sizeof(standard.mask)); /* KILL and STOP refuse */
}

/* All permitted capabilities effective again, after the change of uid has cleared them. */
static long raise_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	long result = iso_raw2(SYS_capget, ISO_ARG(&header), ISO_ARG(data));
	if (result < 0)
		return result;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return iso_raw2(SYS_capset, ISO_ARG(&header), ISO_ARG(data));
}

/*
 * Started as root: become the host ids that own nothing, then make a user namespace, which thereby
 * is theirs also in what the kernel counts by user. It comes last, so that every other namespace
 * belongs to the host's and nothing in here has power over them. Capabilities are kept across the
 * change of uid because hosts restrict the making of user namespaces to those who have them.
 *
 * Only the host's root can map more than one id. It does while capabilities are dropped here; the
 * payload does not start before it has.
 */
static void make_user_namespace(void)
{
	const struct iso_init_config *config = &iso_init_message.config;
	const struct iso_record made = {.type = ISO_RECORD_NAMESPACE};
	check(ISO_STEP_IDENTITY, iso_raw2(SYS_setgroups, 0, 0));
	check(ISO_STEP_IDENTITY, iso_raw2(SYS_prctl, PR_SET_KEEPCAPS, 1));
	check(ISO_STEP_IDENTITY,
	      iso_raw3(SYS_setresgid, config->host_gid, config->host_gid, config->host_gid));
	check(ISO_STEP_IDENTITY,
	      iso_raw3(SYS_setresuid, config->host_uid, config->host_uid, config->host_uid));
	check(ISO_STEP_IDENTITY, raise_capabilities());
	check(ISO_STEP_USER_NAMESPACE, iso_raw1(SYS_unshare, CLONE_NEWUSER));
	send_record(&made);
}

static void wait_for_map(void)
{
	char answer;
	struct pollfd polled[] = {
		{.fd = ISO_INIT_FD_CONTROL, .events = POLLIN},
		{.fd = ISO_INIT_FD_PARENT, .events = POLLIN},
	};
	while (polled[0].revents == 0) {
		(void)iso_raw3(SYS_poll, ISO_ARG(polled), 2, -1);
		if (polled[1].revents != 0)
			iso_init_quit(1);
	}
	if (iso_raw6(SYS_recvfrom, ISO_INIT_FD_CONTROL, ISO_ARG(&answer), sizeof(answer), 0, 0,
		     0) <= 0)
		iso_init_quit(1); /* isorun knows why */
}

/*
 * The network namespace belongs to the host's user namespace, where a payload's capabilities mean
 * nothing. One that was given capabilities over networks gets a network that is its own. Any socket
 * serves for the request that brings the loopback up.
 */
static void make_own_network(void)
{
	const enum iso_step step = ISO_STEP_OWN_NETWORK;
	const uint64_t network = CAPABILITY_BIT(CAP_NET_BIND_SERVICE) |
				 CAPABILITY_BIT(CAP_NET_BROADCAST) | CAPABILITY_BIT(CAP_NET_ADMIN) |
				 CAPABILITY_BIT(CAP_NET_RAW);
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	if ((iso_init_message.config.capabilities & network) == 0)
		return;
	check(step, iso_raw1(SYS_unshare, CLONE_NEWNET));
	long socket = iso_raw3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(step, socket);
	check(step, iso_raw3(SYS_ioctl, socket, SIOCSIFFLAGS, ISO_ARG(&loopback)));
	(void)iso_raw1(SYS_close, socket);
}

/* What is ambient survives the exec of a program that is not privileged itself. */
static void make_ambient(uint64_t kept)
{
	const enum iso_step step = ISO_STEP_CAPABILITIES;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	check(step, iso_raw2(SYS_capget, ISO_ARG(&header), ISO_ARG(data)));
	data[0].inheritable = (uint32_t)kept;
	data[1].inheritable = (uint32_t)(kept >> 32);
	check(step, iso_raw2(SYS_capset, ISO_ARG(&header), ISO_ARG(data)));
	for (long capability = 0; capability < CAPABILITY_COUNT; capability++) {
		if ((kept & CAPABILITY_BIT(capability)) != 0)
			check(step, iso_raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE,
					     capability, 0, 0));
	}
}

/* None are left, but for those that the payload was given; it keeps them across its exec. */
static void drop_capabilities(void)
{
	const enum iso_step step = ISO_STEP_CAPABILITIES;
	const uint64_t kept = iso_init_message.config.capabilities;
	for (long capability = 0; capability < CAPABILITY_COUNT; capability++) {
		if ((kept & CAPABILITY_BIT(capability)) != 0)
			continue;
		long result = iso_raw2(SYS_prctl, PR_CAPBSET_DROP, capability);
		if (result == -EINVAL && capability > CAP_AUDIT_READ)
			break;
		check(step, result);
	}
	check(step, iso_raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct data[2] = {
		{(uint32_t)kept, (uint32_t)kept, (uint32_t)kept},
		{(uint32_t)(kept >> 32), (uint32_t)(kept >> 32), (uint32_t)(kept >> 32)},
	};
	if (kept != 0)
		make_ambient(kept); /* while the bits below still allow it */
	check(step, iso_raw2(SYS_prctl, PR_SET_SECUREBITS, SECURE_BITS));
	check(step, iso_raw2(SYS_capset, ISO_ARG(&header), ISO_ARG(data)));
	check(ISO_STEP_NO_NEW_PRIVS, iso_raw5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/*
 * A terminal from the payload's own devpts. The master side goes to isorun; the payload's side
 * stays open here until the end, so that the master does not end while the payload changes its
 * descriptors.
 */
static void make_terminal(void)
{
	const enum iso_step step = ISO_STEP_TERMINAL;
	int unlocked = 0;
	const struct winsize size = {
		.ws_row = iso_init_message.config.tty_rows,
		.ws_col = iso_init_message.config.tty_columns,
	};
	long master = iso_raw4(SYS_openat, AT_FDCWD, ISO_ARG("/dev/ptmx"),
			       O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
	check(step, master);
	check(step, iso_raw3(SYS_ioctl, master, TIOCSPTLCK, ISO_ARG(&unlocked)));
	check(step, iso_raw3(SYS_ioctl, master, TIOCSWINSZ, ISO_ARG(&size)));
	iso_init_terminal = iso_raw3(SYS_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	check(step, iso_init_terminal);

	struct iso_record record = {.type = ISO_RECORD_TERMINAL};
	struct iovec data = {&record, sizeof(record)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	memset(&control, 0, sizeof(control));
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	*(int *)(void *)CMSG_DATA(&control.header) = (int)master;
	const struct msghdr envelope = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	check(step, iso_raw3(SYS_sendmsg, ISO_INIT_FD_CONTROL, ISO_ARG(&envelope), MSG_NOSIGNAL));
	(void)iso_raw1(SYS_close, master);
}

/* vfork: when this returns in the init, the payload has executed its program or has failed. */
static long __attribute__((noinline)) spawn(char **argv, char **env)
{
	long pid = iso_raw5(SYS_clone, CLONE_VM | CLONE_VFORK | 17 /* SIGCHLD */, 0, 0, 0, 0);
	if (pid == 0)
		iso_init_payload(argv, env);
	check(ISO_STEP_FORK, pid);
	if (iso_init_spawn_failure.type == ISO_RECORD_FAILED) {
		const struct iso_record record = {
			.type = ISO_RECORD_FAILED,
			.step = iso_init_spawn_failure.step,
			.index = iso_init_spawn_failure.index,
			.value = iso_init_spawn_failure.value,
		};
		send_record(&record);
		iso_init_quit(1);
	}
	const struct iso_record started = {.type = ISO_RECORD_STARTED};
	send_record(&started);
	return pid;
}

/*
 * A child that asked to be traced (PTRACE_TRACEME) made this process its tracer and now stands
 * still. Nobody here traces: let it go on, with the signal it was about to receive.
 */
static void release_traced(long pid, int status)
{
	long signal_number = (status >> 8) & 0xff;
	(void)iso_raw4(SYS_ptrace, 17 /* PTRACE_DETACH */, pid, 0,
		       signal_number == 5 /* SIGTRAP, of an exec */ ? 0 : signal_number);
}

/*
 * Reap everything that has ended. The payload's end is reported once, with whether descendants are
 * left; when none is, this process ends too, after the report.
 */
static bool reap(long payload, bool payload_ended)
{
	struct iso_record ended = {.type = ISO_RECORD_UNSET};
	long pid;
	int status;
	while ((pid = iso_raw4(SYS_wait4, -1, ISO_ARG(&status), WNOHANG | __WALL, 0)) > 0) {
		if ((status & 0xff) == 0x7f) /* stopped, which only a tracee's parent is told */
			release_traced(pid, status);
		else if (pid == payload && !payload_ended)
			ended = (struct iso_record){.type = ISO_RECORD_EXITED, .value = status};
	}
	bool alone = pid == -ECHILD;
	if (ended.type != ISO_RECORD_UNSET) {
		ended.index = alone ? 0 : 1;
		send_record(&ended);
		payload_ended = true;
	}
	if (payload_ended && alone)
		iso_init_quit(0);
	return payload_ended;
}

static void forward(long payload, bool payload_ended, long signal_number)
{
	/* The payload leads a process group; once it has ended, everybody left is meant. */
	(void)iso_raw2(SYS_kill, payload_ended ? -1 : -payload, signal_number);
}

/* Read the next signal that isorun wants forwarded, or that a process has ended; 0: none. */
static uint32_t next_signal(long signals)
{
	struct signalfd_siginfo info;
	if (iso_raw3(SYS_read, signals, ISO_ARG(&info), sizeof(info)) != sizeof(info))
		return 0;
	return info.ssi_signo;
}

/* When isorun has died or cancelled while all this was set up, nothing starts. */
static void quit_if_unwanted(long signals)
{
	struct pollfd parent = {.fd = ISO_INIT_FD_PARENT, .events = POLLIN};
	uint32_t signal_number = next_signal(signals);
	if (iso_raw3(SYS_poll, ISO_ARG(&parent), 1, 0) != 0 ||
	    (signal_number != 0 && signal_number != 18 /* SIGCONT */))
		iso_init_quit(1);
}

static void supervise(long signals, long payload) __attribute__((noreturn));

static void supervise(long signals, long payload)
{
	bool payload_ended = false;
	struct pollfd polled[] = {
		{.fd = (int)signals, .events = POLLIN},
		{.fd = ISO_INIT_FD_PARENT, .events = POLLIN},
	};
	for (;;) {
		(void)iso_raw3(SYS_poll, ISO_ARG(polled), 2, -1);
		if (polled[1].revents != 0)
			iso_init_quit(1); /* isorun has died: so does everything here */
		uint32_t signal_number = next_signal(signals);
		if (signal_number == 17 /* SIGCHLD */)
			payload_ended = reap(payload, payload_ended);
		else if (signal_number != 0)
			forward(payload, payload_ended, signal_number);
	}
}

void init_main(long *stack) __attribute__((noreturn, used));

void init_main(long *stack)
{
	char **argv = (char **)(stack + 1);
	char **env = argv + stack[0] + 1;

	receive_config();
	reset_dispositions();
	if (iso_init_message.config.make_user_namespace) {
		make_user_namespace();
		make_own_network();
	}
	drop_capabilities();
	(void)iso_raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
	(void)iso_raw2(SYS_prctl, PR_SET_NAME, ISO_ARG("isorun-init"));
	(void)iso_raw1(SYS_umask, 022);

	/* HUP 1, INT 2, QUIT 3, USR1 10, USR2 12, TERM 15, CHLD 17, CONT 18; all are blocked. */
	const unsigned long mask = SIGNAL_BIT(1) | SIGNAL_BIT(2) | SIGNAL_BIT(3) | SIGNAL_BIT(10) |
				   SIGNAL_BIT(12) | SIGNAL_BIT(15) | SIGNAL_BIT(17) |
				   SIGNAL_BIT(18);
	long signals = iso_raw4(SYS_signalfd4, -1, ISO_ARG(&mask), sizeof(mask),
				SFD_CLOEXEC | SFD_NONBLOCK);
	check(ISO_STEP_FORK, signals);

	if (iso_init_message.config.tty_rows != 0)
		make_terminal();

	if (iso_init_message.config.make_user_namespace)
		wait_for_map();
	quit_if_unwanted(signals);
	supervise(signals, spawn(argv + 1, env));
}

__asm__(".globl _start\n"
	"_start:\n\t"
	"xorl %ebp, %ebp\n\t"
	"movq %rsp, %rdi\n\t"
	"andq $-16, %rsp\n\t"
	"callq init_main\n\t"
	"ud2\n");
