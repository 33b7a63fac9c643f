/*
 * Processes that share our memory: the bottom of this room. The child of a launch, the maker of a
 * template and the holder of an id map are all started here, and ended here.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_SPAWN_H
#define ISORUN_SANDBOX_LAUNCH_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a process that builds a file system needs. */
#define ISO_CHILD_STACK_SIZE ((size_t)64 * 1024)

struct iso_spawn {
	uint64_t flags; /* CLONE_NEW*; memory is always shared */
	int cgroup_fd;	/* borrowed; the cgroup to be born in, or -1: the caller's */
	char *stack;	/* borrowed until the process has ended or executed; 16-byte aligned */
	size_t stack_size;
	void (*entry)(const void *argument); /* must not return */
	const void *argument;
};

struct iso_process {
	pid_t pid; /* as the host sees it */
	int pidfd; /* owned; readable when the process has ended */
};

/*
 * clone3 with shared memory and no suspended parent: set-up can hang (a dead network mount), and
 * the parent must be able to give up. The process therefore has a stack of its own, runs with all
 * signals blocked so that no handler of the host program runs in it, and sends no SIGCHLD that a
 * host program could be confused by.
 *
 * Returns 0, or a negative errno.
 */
int iso_spawn(const struct iso_spawn *spawn, struct iso_process *ret_process);

/* Send a signal. */
void iso_process_signal(const struct iso_process *process, int signal_number);

/* Kill a process and wait for its end. False when it does not come: then the memory that it was
 * given stays its own. */
bool iso_process_abandon(const struct iso_process *process);

/* Reap a process that has ended, which does no harm when the host program's own wait was faster,
 * and close its pidfd. Every process that was started comes here; a pidfd of -1 is fine. */
void iso_process_close(struct iso_process *process);

#endif
