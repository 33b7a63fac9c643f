/* What a run changed in its workspace: a look before and one after. */
#ifndef ISORUN_ENGINE_LOOKS_H
#define ISORUN_ENGINE_LOOKS_H

#include "runner/engine/receipt.h"
#include "runner/workspace/snapshot.h"
#include "sandbox/world.h"

/* No look lasts longer than its command may, but that is at least, and at most: */
#define ISO_LOOK_SHORTEST_MS 5000
#define ISO_LOOK_LONGEST_MS  60000

struct iso_looks {
	int workspace_fd; /* owned; open when there was a first look, else -1 */
	bool apart;	  /* looking there may never end */
	char *path;	  /* borrowed; the workspace's, for messages */
	uint64_t limit_ms;
	int cancel_fd; /* borrowed; see struct iso_request */
	struct iso_snapshot before;
};

/*
 * Look for the first time.
 *
 * world     borrowed; whose workspace; outlives the looks
 * wall_ms   how long the command may run
 * cancel_fd borrowed; as in struct iso_request: cuts a look
 *
 * Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_looks_before(struct iso_looks *looks, const struct iso_world *world, uint64_t wall_ms,
		     int cancel_fd, struct iso_error *err);

/* Look again, if there was a first time, and compare; what could not be compared makes the diff an
 * incomplete one, because what else the result says is true. */
void iso_looks_after(struct iso_looks *looks, char *const *protected_paths,
		     struct iso_result *result);

/* A value with `workspace_fd` -1 is fine. */
void iso_looks_done(struct iso_looks *looks);

#endif
