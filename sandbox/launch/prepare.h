/*
 * From a plan to everything its launch needs: descriptors, the init's message, mount options, the
 * child's operations. What the child reads lives here, at fixed places, until the run has started.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_PREPARE_H
#define ISORUN_SANDBOX_LAUNCH_PREPARE_H

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/child/child.h"
#include "sandbox/host_ids.h"
#include "sandbox/launch/idmap.h"
#include "sandbox/launch/template.h"
#include "sandbox/plan.h"

/* What launches share. The caches are thread-safe; the rest does not change. */
struct iso_launcher {
	int init_fd; /* owned; the init program, executable */
	struct iso_idmap_cache idmaps;
	struct iso_template_cache templates;
	struct iso_host_ids host_ids;
};

/* Who the payload of one launch is on the host: the plan's identity with the host's ids. */
struct iso_payload_ids {
	struct iso_identity identity;
	struct iso_id_block block; /* of a mapped identity; owned */
};

/* Errors: as iso_host_ids_take. */
int iso_payload_ids_take(struct iso_launcher *launcher, const struct iso_identity *planned,
			 struct iso_payload_ids *ret_ids, struct iso_error *err);

/* all_gone  no process of the payload is left. A value without a block is fine. */
void iso_payload_ids_give_back(struct iso_launcher *launcher, struct iso_payload_ids *ids,
			       bool all_gone);

/* host_ids  where payloads' ids may come from. Errors: ISO_ERR_SYSTEM, ISO_ERR_UNSUPPORTED (no
 * executable memfd). */
int iso_launcher_init(struct iso_launcher *ret_launcher, const struct iso_id_range *host_ids,
		      struct iso_error *err);

/* Nothing that was prepared with it is left. */
void iso_launcher_done(struct iso_launcher *launcher);

struct iso_prepared {
	struct iso_launcher *launcher;	   /* borrowed */
	const struct iso_world *world;	   /* borrowed; outlives this, as the command does */
	const struct iso_payload_ids *ids; /* likewise */
	struct iso_template *template;	   /* held, or NULL */
	struct iso_child child;
	uint64_t child_at;	   /* how far it is (iso_step_pack) */
	struct iso_child_op *ops;  /* owned */
	char **op_options;	   /* owned strings, one slot an operation */
	struct iso_strv init_argv; /* owned */
	/* Of the payload's user namespace; the child writes them itself when it has made one. */
	char uid_map[ISO_ID_MAP_SIZE], gid_map[ISO_ID_MAP_SIZE];
	char *join_path; /* owned; the cgroup's tasks file in v1 hierarchies, or NULL */
	char *config;	 /* owned; the init's message, which also says that limits are set */
	size_t config_size;
	char *stack;	      /* owned; the child's */
	int control_fd;	      /* owned; isorun's end of the pair */
	int child_control_fd; /* owned; the init's end, closed after the launch */
	int self_pidfd;	      /* owned; of this process, for the init to watch */
};

/* What is launched, all borrowed. */
struct iso_launch_order {
	const struct iso_plan *plan;
	const struct iso_payload_ids *ids; /* as whom */
	const struct iso_cgroup *cgroup;   /* into which; its limits need not be set yet; or NULL */
	int stdio[3];			   /* what becomes the payload's standard streams */
};

/*
 * Prepare a launch; plan and ids outlive what is prepared.
 *
 * Errors: ISO_ERR_SYSTEM and ISO_ERR_UNSUPPORTED name the step and the object; ISO_ERR_NOMEM.
 * Nothing of the host is changed.
 */
int iso_prepare(struct iso_launcher *launcher, const struct iso_launch_order *order,
		struct iso_prepared *ret_prepared, struct iso_error *err);

/* Let the child, which waits for this, join the cgroup and start. Errors: ISO_ERR_SYSTEM. */
int iso_prepared_release(struct iso_prepared *prepared, struct iso_error *err);

/* Free everything; a zeroed value is fine. */
void iso_prepared_done(struct iso_prepared *prepared);

#endif
