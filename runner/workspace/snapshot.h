/*
 * Metadata snapshots of a directory tree (DIFF-1 to DIFF-6).
 *
 * The walk holds directory descriptors, follows no link, opens nothing but directories and stays
 * beneath its root whatever the tree's owner does meanwhile. What vanishes on the way is not there.
 * A snapshot is read-only once taken and may then be used from any thread.
 */
#ifndef ISORUN_WORKSPACE_SNAPSHOT_H
#define ISORUN_WORKSPACE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "runner/isorun.h"

struct iso_snapshot_dir;

/* One name in a directory. 40 bytes, names apart: a million of them is 40 MB. */
struct iso_snapshot_entry {
	union {
		uint64_t ino; /* of anything but a directory */
		struct iso_snapshot_dir
			*dir; /* of a directory: its content, or NULL when skipped or not
			       * readable */
	};
	union {
		uint64_t size_bytes; /* of anything but a directory */
		int64_t mtime_ns;    /* of a directory */
	};
	int64_t ctime_ns; /* changes with every change of content, mode, owner, links, attributes */
	uint32_t uid, gid;
	uint32_t name_offset;
	uint16_t mode; /* type and permissions, as st_mode; 0: it could not be looked at */
	uint16_t reserved;
};

struct iso_snapshot_dir {
	struct iso_snapshot_dir *next; /* all of a snapshot, for freeing */
	char *names;		       /* NUL-terminated each; in the same allocation */
	uint32_t count;
	struct iso_snapshot_entry entries[]; /* sorted by name, bytewise */
};

struct iso_snapshot {
	struct iso_snapshot_dir *root; /* owned, through `dirs`; NULL: it could not be read */
	struct iso_snapshot_dir *dirs;
	uint64_t entry_count;
	int64_t newest_ctime_ns;
	bool incomplete; /* a limit was reached, or a directory could not be read */
};

struct iso_snapshot_options {
	const char *const *skip; /* names of directories that are not entered; NULL-terminated */
	uint64_t entry_limit;	 /* stop, and say so, after so many */
	unsigned int threads;	 /* 1 or 2; the second starts only when a tree turns out large */
};

/* The standard: .git (but for what git obeys), .venv, node_modules, __pycache__ are skipped. */
extern const struct iso_snapshot_options iso_snapshot_standard;

/*
 * Take a snapshot of the directory `root_fd`. What cannot be read makes it incomplete.
 *
 * root_fd  borrowed; open for reading, at any position, which is lost
 *
 * Errors: ISO_ERR_NOMEM.
 */
int iso_snapshot_take(int root_fd, const struct iso_snapshot_options *options,
		      struct iso_snapshot *ret_snapshot, struct iso_error *err);

/*
 * Wait until a change made from now on must show in a timestamp: kernels stamp files with the time
 * of the last tick, and a file that changed in this very tick could change again unseen. Returns at
 * once unless something in the snapshot is that young; then after a tick, at most 2 s.
 */
void iso_snapshot_settle(const struct iso_snapshot *snapshot);

/* Release it; a zeroed one is fine. */
void iso_snapshot_done(struct iso_snapshot *snapshot);

static inline const char *iso_snapshot_name(const struct iso_snapshot_dir *dir, uint32_t index)
{
	return dir->names + dir->entries[index].name_offset;
}

#endif
