/*
 * From a plan to everything its launch needs: descriptors, the init's message, mount options, the
 * child's operations. What the child reads lives here, at fixed places, until the run has started.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_PREPARE_H
#define ISORUN_SANDBOX_LAUNCH_PREPARE_H

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/child/child.h"
#include "sandbox/launch/idmap.h"
#include "sandbox/plan.h"
#include "sandbox/launch/template.h"

/* Descriptors that the caller lends for the launch. */
struct iso_launch_fds {
	int init_fd;  /* the init program, executable */
	int stdin_fd; /* the payload's three streams */
	int stdout_fd;
	int stderr_fd;
};

struct iso_prepared {
	const struct iso_plan *plan;	      /* borrowed; outlives this */
	struct iso_idmap_cache *idmaps;	      /* borrowed */
	struct iso_template_cache *templates; /* borrowed */
	struct iso_child child;
	struct iso_child_op *ops;  /* owned */
	char **op_options;	   /* owned strings, one slot an operation */
	struct iso_strv init_argv; /* owned */
	char uid_map[48], gid_map[48];
	char *join_path; /* owned; the cgroup's tasks file in v1 hierarchies, or NULL */
	char *config;	 /* owned; the init's message, which also says that limits are set */
	size_t config_size;
	char *stack;	      /* owned; the child's */
	int control_fd;	      /* owned; isorun's end of the pair */
	int child_control_fd; /* owned; the init's end, closed after the launch */
	int self_pidfd;	      /* owned; of this process, for the init to watch */
};

/*
 * Prepare `plan` for a launch into `cgroup` (NULL: none), whose limits need not be set yet.
 *
 * idmaps     where mappings are kept between runs
 * templates  where mounts that runs have in common are kept
 *
 * Errors: ISO_ERR_SYSTEM and ISO_ERR_UNSUPPORTED name the step and the object; ISO_ERR_NOMEM.
 * Nothing of the host is changed.
 */
int iso_prepare(const struct iso_plan *plan, const struct iso_cgroup *cgroup,
		const struct iso_launch_fds *fds, struct iso_idmap_cache *idmaps,
		struct iso_template_cache *templates, struct iso_prepared *ret_prepared,
		struct iso_error *err);

/* Let the child, which waits for this, join the cgroup and start. Errors: ISO_ERR_SYSTEM. */
int iso_prepared_release(struct iso_prepared *prepared, struct iso_error *err);

/* Free everything; a zeroed value is fine. */
void iso_prepared_done(struct iso_prepared *prepared);

#endif
