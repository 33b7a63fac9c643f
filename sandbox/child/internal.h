/* Shared by the child's files (sandbox/child/child.c, sandbox/child/world.c): raw system calls
 * only, and no way out of a failure but the report. */
#ifndef ISORUN_SANDBOX_CHILD_INTERNAL_H
#define ISORUN_SANDBOX_CHILD_INTERNAL_H

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/child/child.h"
#include "sandbox/child/rawcall.h"

#define ISO_CHILD_NO_INDEX 0

static inline long iso_child_open(const char *path, long flags)
{
	return iso_raw4(SYS_openat, AT_FDCWD, ISO_ARG(path), flags | O_CLOEXEC, 0);
}

static inline void iso_child_close(long fd)
{
	(void)iso_raw1(SYS_close, fd);
}

static inline void iso_child_report(const struct iso_child *child, const struct iso_record *record)
{
	/* The source of what becomes ISO_INIT_FD_CONTROL is open until the very end. */
	(void)iso_raw6(SYS_sendto, child->descriptors[ISO_INIT_FD_CONTROL], ISO_ARG(record),
		       sizeof(*record), MSG_NOSIGNAL, 0, 0);
}

/* Say what comes next, for somebody who wonders why it takes so long. */
static inline void iso_child_at(const struct iso_child *child, enum iso_step step, uint32_t index)
{
	if (child->at != NULL)
		__atomic_store_n(child->at, iso_step_pack(step, index), __ATOMIC_RELAXED);
}

/* Report that `step` failed with `result`, a negative errno, and end. */
static inline void __attribute__((noreturn))
iso_child_fail(const struct iso_child *child, enum iso_step step, size_t index, long result)
{
	const struct iso_record record = {
		.type = ISO_RECORD_FAILED,
		.step = step,
		.index = (uint32_t)index,
		.value = (int32_t)-result,
	};
	iso_child_report(child, &record);
	for (;;)
		(void)iso_raw1(SYS_exit_group, 1);
}

static inline void iso_child_check(const struct iso_child *child, enum iso_step step, long result)
{
	if (result < 0)
		iso_child_fail(child, step, ISO_CHILD_NO_INDEX, result);
}

/*
 * The payload's world: its root, and everything that the operations of `child` put there.
 *
 * iso_child_build_world  on a fresh root over the host's "/", which stays reachable until
 * iso_child_leave_host   makes that root the only one
 * iso_child_copy_world   as a copy of the template's, in which the operations then come on top
 *
 * Both return a descriptor of the root.
 */
long iso_child_build_world(const struct iso_child *child);
void iso_child_leave_host(const struct iso_child *child, long root);
long iso_child_copy_world(const struct iso_child *child);

#endif
