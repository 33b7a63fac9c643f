/* What a run that hangs, or that could not be killed, waits for, as far as that can be known. */
#ifndef ISORUN_ENGINE_STUCK_H
#define ISORUN_ENGINE_STUCK_H

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/world.h"

/*
 * Put into the hint of `err` which places of `world` are on a file system that need not answer
 * (runner/base/file/slow.h), and the cgroup, if something stays in it. Asks no such file system.
 */
void iso_stuck_explain(const struct iso_world *world, const struct iso_cgroup *cgroup,
		       bool left_behind, struct iso_error *err);

#endif
