/*
 * A user namespace is made by a process that enters it. That process shares our memory (copying the
 * address space would cost more than all the rest), only waits, and is killed as soon as its
 * namespace has a descriptor; should we die first, it sees that through a pidfd and ends.
 */
#include "sandbox/launch/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "sandbox/child/rawcall.h"

#define STACK_SIZE 8192

/* The namespace's first process: raw calls only, see sandbox/child/child.c. */
static void __attribute__((noreturn)) wait_for_parent(const void *argument)
{
	struct pollfd parent = {.fd = 0, .events = POLLIN};
	/* Should it live longer than meant, it must not keep the ends of any pipe open. */
	if (iso_raw3(SYS_dup3, (long)(intptr_t)argument, 0, 0) == 0 &&
	    iso_raw3(SYS_close_range, 1, ~0U, 0) == 0)
		(void)iso_raw3(SYS_poll, ISO_ARG(&parent), 1, -1);
	for (;;)
		(void)iso_raw1(SYS_exit_group, 0);
}

static int write_file(pid_t pid, const char *file, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return iso_fd_write_control(AT_FDCWD, path, text);
}

int iso_userns_map(pid_t pid, const char *uid_map, const char *gid_map)
{
	return write_file(pid, "setgroups", "deny") < 0 ||
			       write_file(pid, "uid_map", uid_map) < 0 ||
			       write_file(pid, "gid_map", gid_map) < 0
		       ? -errno
		       : 0;
}

static int map_and_open(pid_t pid, const char *uid_map, const char *gid_map)
{
	char path[64];
	int failed = iso_userns_map(pid, uid_map, gid_map);
	if (failed < 0) {
		errno = -failed;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return iso_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC));
}

static int make(const char *uid_map, const char *gid_map, struct iso_userns *userns,
		struct iso_error *err)
{
	userns->stack = aligned_alloc(16, STACK_SIZE);
	if (userns->stack == NULL)
		return iso_error_nomem(err);
	ISO_AUTO_CLOSE int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	/* It takes what it polls by value in the pointer: `self` does not outlive this call. */
	const struct iso_spawn spawn = {
		.flags = CLONE_NEWUSER,
		.cgroup_fd = -1,
		.stack = userns->stack,
		.stack_size = STACK_SIZE,
		.entry = wait_for_parent,
		.argument = (const void *)(intptr_t)self,
	};
	int failed = self < 0 ? -errno : iso_spawn(&spawn, &userns->holder);
	if (failed < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, -failed, "create a user namespace");
	userns->fd = map_and_open(userns->holder.pid, uid_map, gid_map);
	int saved_errno = errno;
	/* Not waited for: its end need not delay the run. */
	iso_process_signal(&userns->holder, SIGKILL);
	if (userns->fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, saved_errno,
				     "map ids into a user namespace (\"%.*s\")",
				     (int)strcspn(uid_map, "\n"), uid_map);
	return 0;
}

int iso_userns_make(const char *uid_map, const char *gid_map, struct iso_userns *ret_userns,
		    struct iso_error *err)
{
	struct iso_userns userns = ISO_USERNS_NONE;
	if (make(uid_map, gid_map, &userns, err) < 0) {
		iso_userns_done(&userns);
		return -1;
	}
	*ret_userns = userns;
	return 0;
}

void iso_userns_done(struct iso_userns *userns)
{
	if (userns->holder.pidfd >= 0 && !iso_process_abandon(&userns->holder))
		userns->stack = NULL; /* it still stands on that, and ends when we do */
	iso_process_close(&userns->holder);
	iso_fd_close(userns->fd);
	free(userns->stack);
	*userns = ISO_USERNS_NONE;
}
