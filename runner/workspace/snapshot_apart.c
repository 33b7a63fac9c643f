/* The walk happens in a scout, in memory that both processes see at the same address: its
 * pointers are ours. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/reopen.h"
#include "runner/base/scout.h"
#include "runner/workspace/snapshot_dir.h"

struct errand {
	int root_fd;
	const struct iso_snapshot_options *options;
	struct iso_snapshot *snapshot; /* with an arena that both processes see */
};

/* In the scout. What it answers with is the snapshot without its arena, which is there already. */
static void run_errand(int reply_fd, const void *argument)
{
	const struct errand *errand = argument;
	if (iso_snapshot_walk(iso_reopen(errand->root_fd, O_RDONLY | O_DIRECTORY), true,
			      errand->options, errand->snapshot) == 0)
		(void)iso_fd_write_all(reply_fd, errand->snapshot, sizeof(*errand->snapshot));
}

int iso_snapshot_take_apart(int root_fd, const char *path,
			    const struct iso_snapshot_options *options,
			    struct iso_snapshot *ret_snapshot, struct iso_error *err)
{
	const struct errand errand = {root_fd, options, ret_snapshot};
	const struct iso_scout_work work = {run_errand, &errand, root_fd};
	ISO_AUTO_FREE char *reply = NULL;
	size_t size = 0;
	if (iso_arena_open(&ret_snapshot->arena, options->memory_limit, true) < 0)
		return iso_error_nomem(err);
	int failed = iso_scout_send(&work, &options->patience, sizeof(*ret_snapshot), &reply, &size,
				    NULL);
	if (failed == 0 && size == sizeof(*ret_snapshot)) {
		const struct iso_snapshot *found = (const void *)reply;
		ret_snapshot->root = found->root;
		ret_snapshot->entry_count = found->entry_count;
		ret_snapshot->newest_ctime_ns = found->newest_ctime_ns;
		ret_snapshot->incomplete = found->incomplete;
		return 0;
	}
	iso_snapshot_done(ret_snapshot);
	if (failed == ECANCELED) {
		ret_snapshot->incomplete = ISO_CUT_CANCELLED;
		return 0;
	}
	iso_error_set(err, ISO_ERR_SYSTEM, failed != 0 ? failed : EIO, "look at \"%s\"", path);
	return iso_error_hint(err, "its file system (FUSE, or over a network) does not answer; "
				   "--no-diff does not look at it");
}
