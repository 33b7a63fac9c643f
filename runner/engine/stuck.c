#include "runner/engine/stuck.h"

#include <stdio.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/slow.h"

/* A slow mount that the world shows something of; NULL. */
static char *find_slow(const struct iso_world *world)
{
	for (size_t i = 0; i < world->fsop_count; i++) {
		const struct iso_fsop *op = &world->fsops[i];
		char *point = op->kind == ISO_FSOP_BIND ? iso_slow_find(op->source) : NULL;
		if (point != NULL)
			return point;
	}
	return NULL;
}

void iso_stuck_explain(const struct iso_world *world, const struct iso_cgroup *cgroup,
		       bool left_behind, struct iso_error *err)
{
	char left[512] = "";
	if (left_behind && cgroup->mode != ISO_CGROUP_NONE)
		snprintf(left, sizeof(left),
			 "a killed process is stuck in the kernel and was left behind in cgroup "
			 "\"%s/%s\"",
			 cgroup->site->path, cgroup->name);
	else if (left_behind)
		snprintf(left, sizeof(left),
			 "a killed process is stuck in the kernel and was left behind");
	ISO_AUTO_FREE char *slow = find_slow(world);
	const char *between = left[0] != '\0' && slow != NULL ? "; " : "";
	if (slow != NULL)
		iso_error_hint(err,
			       "%s%sthe file system mounted on \"%s\" (FUSE, or over a network) "
			       "may not answer",
			       left, between, slow);
	else if (left_behind)
		iso_error_hint(err, "%s", left);
}
