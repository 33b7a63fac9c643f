/* The one clone3 of the house. */
#include "sandbox/launch/spawn.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/file/fd.h"
#include "runner/base/sigmask.h"
#include "sandbox/child/rawcall.h"

#define ABANDON_LIMIT_MS 2000

int iso_spawn(const struct iso_spawn *spawn, struct iso_process *ret_process)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = spawn->flags | CLONE_VM | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.stack = (uintptr_t)spawn->stack,
		.stack_size = spawn->stack_size,
	};
	if (spawn->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)spawn->cgroup_fd;
	}
	uint64_t saved = iso_sigmask_block(ISO_SIGMASK_ALL);
	long pid = iso_raw_clone3(&args, sizeof(args), spawn->entry, spawn->argument);
	iso_sigmask_restore(saved);
	if (pid < 0)
		return (int)pid;
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

bool iso_process_abandon(const struct iso_process *process)
{
	struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
	int64_t deadline_ns = iso_deadline_after(iso_clock_mono_ns(), ABANDON_LIMIT_MS);
	iso_process_signal(process, SIGKILL);
	while (poll(&ended, 1, iso_deadline_poll_ms(deadline_ns, iso_clock_mono_ns())) < 0 &&
	       errno == EINTR)
		;
	return ended.revents != 0;
}

void iso_process_close(struct iso_process *process)
{
	siginfo_t info;
	while (process->pidfd >= 0 &&
	       waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG | __WALL) < 0 &&
	       errno == EINTR)
		;
	process->pidfd = iso_fd_close(process->pidfd);
}
