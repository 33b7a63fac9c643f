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

#include "runner/base/arena.h"
#include "runner/base/patience.h"
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
	char *names; /* NUL-terminated each; in the same allocation */
	uint32_t count;
	struct iso_snapshot_entry entries[]; /* sorted by name, bytewise */
};

struct iso_snapshot {
	struct iso_arena arena;	       /* owned; all directories */
	struct iso_snapshot_dir *root; /* in there; NULL: it could not be read */
	uint64_t entry_count;
	int64_t newest_ctime_ns;
	const char *incomplete; /* why (ISO_CUT_*); NULL: all is there. Static. */
};

/* Why something is missing in a snapshot. */
#define ISO_CUT_UNREADABLE "something could not be read"
#define ISO_CUT_ENTRIES	   "there are more entries than are kept"
#define ISO_CUT_DEPTH	   "directories lie too deep below each other"
#define ISO_CUT_TIME	   "looking took too long"
#define ISO_CUT_CANCELLED  "looking was cancelled"
#define ISO_CUT_MOUNT	   "a mount that need not answer (FUSE) was not looked into"

struct iso_snapshot_options {
	const char *const *skip; /* names of directories that are not entered; NULL-terminated */
	uint64_t entry_limit;	 /* stop, and say so, after so many */
	size_t memory_limit;	 /* likewise; bytes, of all that is kept */
	uint32_t depth_limit;	 /* directories below each other; deeper ones are not entered */
	unsigned int threads;	 /* 1 or 2; the second starts only when a tree turns out large */
	struct iso_patience patience; /* when to stop, and say so */
};

/* The standard: .git (but for what git obeys), .venv, node_modules, __pycache__ are skipped;
 * 4,000,000 entries, 1 GiB, 1024 levels; two threads; no end of time. */
extern const struct iso_snapshot_options iso_snapshot_standard;

/*
 * Take a snapshot of the directory `root_fd`. What cannot be read makes it incomplete.
 *
 * root_fd  borrowed; open for reading, at any position, which is lost
 *
 * Not for a directory on a file system that need not answer, nor for one that holds a network
 * mount: there it may never return. Errors: ISO_ERR_NOMEM.
 */
int iso_snapshot_take(int root_fd, const struct iso_snapshot_options *options,
		      struct iso_snapshot *ret_snapshot, struct iso_error *err);

/*
 * The same from a process of its own, which may be given up (runner/base/scout.h).
 *
 * root_fd  borrowed; O_PATH will do
 * path     its name, for messages
 *
 * Errors: ISO_ERR_SYSTEM with ETIMEDOUT when the file system did not answer in time; ISO_ERR_NOMEM.
 */
int iso_snapshot_take_apart(int root_fd, const char *path,
			    const struct iso_snapshot_options *options,
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
