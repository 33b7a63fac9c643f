/* The one clone from which every execution starts. */
#ifndef ISORUN_SANDBOX_LAUNCH_H
#define ISORUN_SANDBOX_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"
#include "sandbox/prepare.h"

struct clone_args; /* linux/sched.h */

/*
 * clone3 with shared memory into `entry(argument)`, which does not return. All signals are blocked
 * there, so that no handler of the host program runs on that stack.
 *
 * args  with CLONE_VM and a stack
 *
 * Returns the child's pid or a negative errno.
 */
long iso_clone_sharing(const struct clone_args *args, void (*entry)(const void *),
		       const void *argument);

struct iso_process {
	pid_t pid; /* of the init, as the host sees it */
	int pidfd; /* owned; readable when the init has ended */
};

/*
 * Clone the child into its namespaces and into `cgroup` (NULL: none), where it sets itself up and
 * waits for iso_prepared_release. It reports over the control pair of `prepared`, which must stay
 * untouched until that reports or closes.
 *
 * Errors: ISO_ERR_LAUNCH; nothing runs then.
 */
int iso_launch(struct iso_prepared *prepared, const struct iso_cgroup *cgroup,
	       struct iso_process *ret_process, struct iso_error *err);

/* Send a signal to the init, or to what is about to become it. */
void iso_process_signal(const struct iso_process *process, int signal_number);

/* Kill and reap a child that waits for its release. False when it does not end: then the memory
 * that it was prepared with stays its own. */
bool iso_process_abandon(struct iso_process *process);

/* Reap the ended init; harmless when the host program's own wait was faster. */
void iso_process_reap(struct iso_process *process);

/* A sealed memfd that holds the init program. Returns the descriptor, or -1 with `err`. */
int iso_launch_open_init(struct iso_error *err);

#endif
