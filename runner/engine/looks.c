/* Both looks go through one descriptor, which the payload cannot turn elsewhere. */
#include "runner/engine/looks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/patient.h"
#include "runner/base/file/reopen.h"
#include "runner/base/file/slow.h"

static int look(const struct iso_looks *looks, struct iso_snapshot *ret_snapshot,
		struct iso_error *err)
{
	struct iso_snapshot_options options = iso_snapshot_standard;
	options.patience = iso_patience_for(looks->limit_ms, looks->cancel_fd);
	return looks->apart ? iso_snapshot_take_apart(looks->workspace_fd, looks->path, &options,
						      ret_snapshot, err)
			    : iso_snapshot_take(looks->workspace_fd, &options, ret_snapshot, err);
}

static int refuse(const struct iso_looks *looks, struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the workspace \"%s\"", looks->path);
}

/* Open it for reading, or, where that could last for ever, only find it. */
static int open_workspace(struct iso_looks *looks, const struct iso_world *world,
			  struct iso_error *err)
{
	struct stat st;
	looks->workspace_fd = iso_patient_open(looks->path, O_DIRECTORY | O_NOFOLLOW, NULL, &st);
	if (looks->workspace_fd < 0)
		return refuse(looks, err);
	if (st.st_dev != world->workspace_dev || st.st_ino != world->workspace_ino)
		return iso_error_set(
			err, ISO_ERR_SYSTEM, 0,
			"read the workspace \"%s\": it was replaced since the plan was made",
			looks->path);
	looks->apart = iso_slow_is(looks->workspace_fd) || iso_slow_is_near(looks->path);
	if (looks->apart)
		return 0;
	int found_fd = looks->workspace_fd;
	looks->workspace_fd = iso_reopen(found_fd, O_RDONLY | O_DIRECTORY);
	iso_fd_close(found_fd);
	return looks->workspace_fd < 0 ? refuse(looks, err) : 0;
}

int iso_looks_before(struct iso_looks *looks, const struct iso_world *world, uint64_t wall_ms,
		     int cancel_fd, struct iso_error *err)
{
	looks->path = world->workspace;
	looks->cancel_fd = cancel_fd;
	looks->limit_ms = wall_ms < ISO_LOOK_LONGEST_MS ? wall_ms : ISO_LOOK_LONGEST_MS;
	if (looks->limit_ms < ISO_LOOK_SHORTEST_MS)
		looks->limit_ms = ISO_LOOK_SHORTEST_MS;
	if (open_workspace(looks, world, err) < 0 || look(looks, &looks->before, err) < 0)
		return -1;
	iso_snapshot_settle(&looks->before);
	return 0;
}

void iso_looks_after(struct iso_looks *looks, char *const *protected_paths,
		     struct iso_result *result)
{
	const char *cut = looks->before.incomplete;
	struct iso_snapshot after = {0};
	if (looks->workspace_fd < 0)
		return;
	result->has_diff = true;
	if (cut != NULL && strcmp(cut, ISO_CUT_CANCELLED) == 0)
		result->diff.incomplete = cut; /* somebody is in a hurry */
	else if (look(looks, &after, NULL) < 0 ||
		 iso_diff_compare(&looks->before, &after, protected_paths, &result->diff, NULL) < 0)
		result->diff.incomplete = ISO_CUT_UNREADABLE;
	iso_snapshot_done(&after);
}

void iso_looks_done(struct iso_looks *looks)
{
	looks->workspace_fd = iso_fd_close(looks->workspace_fd);
	iso_snapshot_done(&looks->before);
}
