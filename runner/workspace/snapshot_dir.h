/* The parts of a snapshot: reading one directory into its sorted form, and the walk. */
#ifndef ISORUN_WORKSPACE_SNAPSHOT_DIR_H
#define ISORUN_WORKSPACE_SNAPSHOT_DIR_H

#include "runner/workspace/snapshot.h"

/* Buffers that serve one directory after the other, and what was noticed on the way. */
struct iso_dir_reader {
	struct iso_snapshot_entry *entries; /* owned */
	size_t entry_count, entry_capacity;
	char *names; /* owned */
	size_t names_size, names_capacity;
	char *buffer; /* owned */
	int64_t newest_ctime_ns;
	const char *incomplete; /* why something is missing (ISO_CUT_*); NULL: nothing is */
	bool no_memory;
	bool apart; /* in a process that may be given up: any file system is asked */
};

/* 0, or -1 when out of memory. */
int iso_dir_reader_init(struct iso_dir_reader *ret_reader, bool apart);

/*
 * Read the directory `fd` (borrowed, at its start), only the names in `only` when that is not NULL.
 *
 * limit     entries; a directory with more is not kept
 * patience  when to give up
 *
 * Returns a directory in `arena`; NULL when it cannot be read or kept, or, as `no_memory` says,
 * when out of memory.
 */
struct iso_snapshot_dir *iso_dir_reader_read(struct iso_dir_reader *reader, int fd,
					     const char *const *only, uint64_t limit,
					     const struct iso_patience *patience,
					     struct iso_arena *arena);

/*
 * Take a snapshot into the arena of `snapshot`.
 *
 * fd     of its root, which is taken over; -1: it could not be had
 * apart  in a process that may be given up
 *
 * 0, or -1 when out of memory.
 */
int iso_snapshot_walk(int fd, bool apart, const struct iso_snapshot_options *options,
		      struct iso_snapshot *snapshot);

/* Why an ended patience cuts a snapshot. */
const char *iso_cut_of(int ended);

void iso_dir_reader_done(struct iso_dir_reader *reader);

/* Whether the NULL-terminated `list` holds `name`. */
bool iso_name_is_listed(const char *const *list, const char *name);

#endif
