/* Reading one directory into its sorted form: the part of a snapshot that does not walk. */
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
	bool incomplete; /* something could not be read */
	bool no_memory;
};

/* 0, or -1 when out of memory. */
int iso_dir_reader_init(struct iso_dir_reader *ret_reader);

/*
 * Read the directory `fd` (borrowed, at its start), only the names in `only` when that is not NULL.
 *
 * Returns a directory in one allocation that the caller frees; NULL when it cannot be read, or, as
 * `no_memory` says, when out of memory.
 */
struct iso_snapshot_dir *iso_dir_reader_read(struct iso_dir_reader *reader, int fd,
					     const char *const *only);

void iso_dir_reader_done(struct iso_dir_reader *reader);

/* Whether the NULL-terminated `list` holds `name`. */
bool iso_name_is_listed(const char *const *list, const char *name);

#endif
