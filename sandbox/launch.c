/*
 * clone3 with shared memory and no suspended parent: set-up can hang (a dead network mount), and
 * the parent must be able to give up. The child therefore has a stack of its own, runs with all
 * signals blocked so that no handler of the host program runs in it, and sends no SIGCHLD that a
 * host program could be confused by until it has executed the init.
 */
#include "sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/fd.h"
#include "sandbox/init/init_image.h"
#include "sandbox/rawcall.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

#define ABANDON_LIMIT_MS 5000

/* The cgroup namespace is unshared later (sandbox/child.c), and for root the user namespace last of
 * all (sandbox/init/init.c): see docs/decisions/002-namespace-order.md. */
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

static int explain_clone(const struct iso_prepared *prepared, int os_errno, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_LAUNCH, os_errno, "clone into new namespaces");
	if (prepared->child.own_user_namespace && (os_errno == EPERM || os_errno == ENOSPC))
		return iso_error_hint(err,
				      "this host does not let ordinary users make user namespaces: "
				      "isorun doctor names the setting");
	if (os_errno == EPERM)
		return iso_error_hint(
			err, "CAP_SYS_ADMIN is needed: isorun doctor says what is missing");
	return -1;
}

long iso_clone_sharing(const struct clone_args *args, void (*entry)(const void *),
		       const void *argument)
{
	sigset_t all, saved;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	long pid = iso_raw_clone3(args, sizeof(*args), entry, argument);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return pid;
}

int iso_launch(struct iso_prepared *prepared, const struct iso_cgroup *cgroup,
	       struct iso_process *ret_process, struct iso_error *err)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PIDFD | NAMESPACES,
		.pidfd = (uintptr_t)&pidfd,
		.stack = (uintptr_t)prepared->stack,
		.stack_size = ISO_CHILD_STACK_SIZE,
	};
	if (prepared->child.template_fd >= 0)
		args.flags &= ~(uint64_t)CLONE_NEWNS; /* it is the template's that is copied */
	if (prepared->child.own_user_namespace)
		args.flags |= CLONE_NEWUSER;
	if (cgroup != NULL) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup->dir_fd;
	}

	long pid = iso_clone_sharing(&args, iso_child_main, &prepared->child);
	if (pid < 0)
		return explain_clone(prepared, (int)-pid, err);

	/* From here on the pair's other end closes when the child does not live any more. */
	prepared->child_control_fd = iso_fd_close(prepared->child_control_fd);
	*ret_process = (struct iso_process){.pid = (pid_t)pid, .pidfd = iso_fd_above_stdio(pidfd)};
	return 0;
}

void iso_process_signal(const struct iso_process *process, int signal_number)
{
	if (syscall(SYS_pidfd_send_signal, process->pidfd, signal_number, NULL, 0) < 0 &&
	    errno != ESRCH)
		/* Refused by a filter of the host's. Nobody but us waits for this child, so its
		 * pid is still its own. */
		(void)kill(process->pid, signal_number);
}

void iso_process_reap(struct iso_process *process)
{
	siginfo_t info;
	while (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG | __WALL) < 0 &&
	       errno == EINTR)
		;
}

bool iso_process_abandon(struct iso_process *process)
{
	struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
	int64_t deadline_ns = iso_deadline_after(iso_clock_mono_ns(), ABANDON_LIMIT_MS);
	iso_process_signal(process, SIGKILL);
	while (poll(&ended, 1, iso_deadline_poll_ms(deadline_ns, iso_clock_mono_ns())) < 0 &&
	       errno == EINTR)
		;
	iso_process_reap(process);
	return ended.revents != 0;
}

int iso_launch_open_init(struct iso_error *err)
{
	/* cppcheck-suppress comparePointers ; two labels of one section */
	size_t size = (size_t)(iso_init_image_end - iso_init_image_start);
	ISO_AUTO_CLOSE int fd =
		memfd_create("isorun-init", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 every memfd was executable */
		fd = memfd_create("isorun-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fd = iso_fd_above_stdio(fd);
	if (fd < 0) {
		iso_error_set(err, ISO_ERR_UNSUPPORTED, errno, "create an executable memfd");
		return errno == EACCES
			       ? iso_error_hint(err, "set the sysctl vm.memfd_noexec to 0 or 1")
			       : -1;
	}
	if (iso_fd_write_all(fd, iso_init_image_start, size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "fill the init's memfd");
	/* A writable descriptor would make every exec fail with ETXTBSY. */
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int read_only = iso_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC));
	if (read_only < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open \"%s\"", path);
	return read_only;
}
