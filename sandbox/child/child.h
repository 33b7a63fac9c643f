/*
 * Everything between clone and the init's exec. The child shares the parent's memory: it reads one
 * `struct iso_child`, which stays untouched until the control pair reports or closes, writes to
 * nothing but its own stack, that pair and one word that says how far it is, and calls no libc
 * function (`make lint` looks).
 */
#ifndef ISORUN_SANDBOX_CHILD_CHILD_H
#define ISORUN_SANDBOX_CHILD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/child/steps.h"
#include "sandbox/plan.h"

/* A plan's operation with everything that needed libc already done. Strings are borrowed. */
struct iso_child_op {
	enum iso_fsop_kind kind;
	const char *target; /* relative to the new root; "" is the root itself */
	const char *source;
	const char *options; /* TMPFS, DEVPTS: mount data */
	size_t source_length;
	int tree_fd;	     /* BIND prepared by the parent: a detached mount, else -1 */
	uint64_t attributes; /* MOUNT_ATTR_* for BIND */
	unsigned long flags; /* MS_* for TMPFS, PROC, DEVPTS */
	uint32_t mode;
	uint64_t device;   /* DEVICE: its number */
	uint32_t uid, gid; /* DIR: new owner when `give_away` */
	bool give_away, optional;
	bool by_caller;	   /* BIND: as in the plan */
	bool closed_later; /* TMPFS: nobody writes to it once it is built */
	uint64_t source_dev, source_ino;
	uint32_t index; /* its place in the plan, for reports */
};

struct iso_child {
	bool own_user_namespace; /* clone made one: map `uid_map`, `gid_map` first */
	const char *uid_map, *gid_map;
	int join_dirs
		[ISO_V1_COUNT]; /* v1 directories in which `join_path` is a tasks file, or -1 */
	const char *join_path;
	uint64_t *at; /* what it is about to do (iso_child_at), for whoever reads along; or NULL */
	int template_fd; /* mount namespace that holds what `ops` does not, or -1 */
	const struct iso_child_op *ops;
	size_t op_count;
	const char *hostname;
	size_t hostname_length;
	const void *loopback_message;
	size_t loopback_length;
	int descriptors[3 + 2]; /* what becomes 0 to ISO_INIT_FD_COUNT - 1 */
	int init_fd;		/* the init program */
	char *const *init_argv; /* its argv: a name, then the payload's */
	char *const *env;	/* the payload's environment */
};

/* Set everything up and execute the init; on failure report and exit. Runs after clone only. */
void iso_child_main(const void *child) __attribute__((noreturn));

/* Build `ops` in the fresh mount namespace of a clone, report ISO_RECORD_STARTED and wait for the
 * end, which comes at the latest when the parent ends (ISO_INIT_FD_PARENT). */
void iso_child_make_template(const void *child) __attribute__((noreturn));

#endif
