/* A plan is a world and the command that runs in it, both plain values. runner/plan makes plans,
 * sandbox/launch turns them into resources. */
#ifndef ISORUN_SANDBOX_PLAN_H
#define ISORUN_SANDBOX_PLAN_H

#include "runner/base/digest.h"
#include "sandbox/command.h"
#include "sandbox/world.h"

struct iso_plan {
	struct iso_world world;
	struct iso_command command;
};

/* Release what a plan owns; a zeroed plan is fine. */
void iso_plan_done(struct iso_plan *plan);

/*
 * The plan as canonical JSON text (fixed key order, no white space) that the caller frees: both
 * halves, each with the SHA-256 of its own text. The digest of all of it is the plan's.
 *
 * Errors: ISO_ERR_NOMEM.
 */
int iso_plan_print(const struct iso_plan *plan, char **ret_json, struct iso_error *err);

#endif
