/* Entries and names gather in growing buffers, are sorted, and copied into one block. */
#include "runner/workspace/snapshot_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/file/slow.h"
#include "runner/base/file/stat.h"

#define READ_BUFFER_SIZE ((size_t)64 * 1024)

bool iso_name_is_listed(const char *const *list, const char *name)
{
	for (; *list != NULL; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

const char *iso_cut_of(int ended)
{
	return ended == ECANCELED ? ISO_CUT_CANCELLED : ISO_CUT_TIME;
}

/* A directory of another mount, which may be one that need not answer. */
static bool is_slow_mount(int dir_fd, const char *name)
{
	ISO_AUTO_CLOSE int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || iso_slow_is(fd);
}

static bool add_entry(struct iso_dir_reader *reader, int fd, const char *name)
{
	struct iso_file_stat st = {.mode = 0}; /* of what cannot be looked at only the name */
	if (iso_file_stat_at(fd, name, !reader->apart, &st) < 0) {
		if (errno == ENOENT)
			return true;
		reader->incomplete = ISO_CUT_UNREADABLE;
	}
	if (st.mount_root && !reader->apart && S_ISDIR(st.mode) && is_slow_mount(fd, name)) {
		st.mode = 0;
		reader->incomplete = ISO_CUT_MOUNT;
	}
	size_t name_size = strlen(name) + 1;
	if (reader->names_size + name_size > UINT32_MAX) /* `name_offset` ends there */
		return false;
	if (!iso_array_reserve(&reader->entries, &reader->entry_capacity, reader->entry_count + 1,
			       sizeof(*reader->entries)) ||
	    !iso_array_reserve(&reader->names, &reader->names_capacity,
			       reader->names_size + name_size, 1)) {
		reader->no_memory = true;
		return false;
	}
	bool directory = S_ISDIR(st.mode);
	struct iso_snapshot_entry *entry = &reader->entries[reader->entry_count++];
	*entry = (struct iso_snapshot_entry){
		.ctime_ns = st.ctime_ns,
		.uid = st.uid,
		.gid = st.gid,
		.name_offset = (uint32_t)reader->names_size,
		.mode = st.mode,
	};
	if (directory) {
		entry->mtime_ns = st.mtime_ns;
	} else {
		entry->ino = st.ino;
		entry->size_bytes = st.size_bytes;
	}
	memcpy(reader->names + reader->names_size, name, name_size);
	reader->names_size += name_size;
	if (entry->ctime_ns > reader->newest_ctime_ns)
		reader->newest_ctime_ns = entry->ctime_ns;
	return true;
}

static int compare_entries(const void *left, const void *right, void *names)
{
	const struct iso_snapshot_entry *a = left, *b = right;
	return strcmp((char *)names + a->name_offset, (char *)names + b->name_offset);
}

/* Heapsort: in place, and no worst case for a payload to find. */
static void sort_entries(struct iso_snapshot_entry *entries, size_t count, char *names)
{
	for (size_t end = count, start = count / 2; end > 1;) {
		if (start > 0) {
			start--;
		} else {
			end--;
			struct iso_snapshot_entry top = entries[0];
			entries[0] = entries[end];
			entries[end] = top;
		}
		for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
			if (child + 1 < end &&
			    compare_entries(&entries[child], &entries[child + 1], names) < 0)
				child++;
			if (compare_entries(&entries[root], &entries[child], names) >= 0)
				break;
			struct iso_snapshot_entry swapped = entries[root];
			entries[root] = entries[child];
			entries[child] = swapped;
		}
	}
}

/* The directory that was read, in one allocation of its size; NULL when there is no room for it. */
static struct iso_snapshot_dir *finish_dir(const struct iso_dir_reader *reader,
					   struct iso_arena *arena)
{
	size_t entries_size = reader->entry_count * sizeof(struct iso_snapshot_entry);
	struct iso_snapshot_dir *dir =
		iso_arena_take(arena, sizeof(*dir) + entries_size + reader->names_size);
	if (dir == NULL)
		return NULL;
	sort_entries(reader->entries, reader->entry_count, reader->names);
	dir->count = (uint32_t)reader->entry_count;
	dir->names = (char *)dir->entries + entries_size;
	if (reader->entry_count > 0) {
		memcpy(dir->entries, reader->entries, entries_size);
		memcpy(dir->names, reader->names, reader->names_size);
	}
	return dir;
}

/* Add what one call of getdents64(2) gave; false when one could not be added. */
static bool add_entries(struct iso_dir_reader *reader, int fd, long size, const char *const *only)
{
	for (long offset = 0; offset < size;) {
		const struct dirent64 *found = (const void *)(reader->buffer + offset);
		const char *name = found->d_name;
		offset += found->d_reclen;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    (only == NULL || iso_name_is_listed(only, name)) &&
		    !add_entry(reader, fd, name))
			return false;
	}
	return true;
}

struct iso_snapshot_dir *iso_dir_reader_read(struct iso_dir_reader *reader, int fd,
					     const char *const *only, uint64_t limit,
					     const struct iso_patience *patience,
					     struct iso_arena *arena)
{
	long size;
	reader->entry_count = 0;
	reader->names_size = 0;
	while ((size = syscall(SYS_getdents64, fd, reader->buffer, READ_BUFFER_SIZE)) > 0) {
		int ended = iso_patience_end(patience);
		if (ended != 0) {
			reader->incomplete = iso_cut_of(ended);
			return NULL;
		}
		if (!add_entries(reader, fd, size, only) || reader->entry_count > limit) {
			reader->incomplete = ISO_CUT_ENTRIES;
			return NULL;
		}
	}
	if (size < 0 && errno != ENOENT) {
		reader->incomplete = ISO_CUT_UNREADABLE;
		return NULL;
	}
	struct iso_snapshot_dir *dir = finish_dir(reader, arena);
	if (dir == NULL)
		reader->incomplete = ISO_CUT_ENTRIES;
	return dir;
}

int iso_dir_reader_init(struct iso_dir_reader *ret_reader, bool apart)
{
	*ret_reader = (struct iso_dir_reader){
		.buffer = malloc(READ_BUFFER_SIZE),
		.apart = apart,
	};
	return ret_reader->buffer == NULL ? -1 : 0;
}

void iso_dir_reader_done(struct iso_dir_reader *reader)
{
	free(reader->entries);
	free(reader->names);
	free(reader->buffer);
	reader->entries = NULL;
	reader->names = NULL;
	reader->buffer = NULL;
}
