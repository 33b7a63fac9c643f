/* A directory's names for a caller: the first thousand in order, in as much memory as these take.
 * */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "policy/names.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json.h"
#include "runner/base/text/strv.h"
#include "runner/workspace/file_tools.h"

#define LIST_MAX 1000

/* An entry as it is listed. */
struct entry {
	char *name; /* owned */
	bool is_directory;
};

/* The first names in order, however many there are: a heap with the last of them on top. One more
 * than is shown says that there are more. */
struct listing {
	struct entry entries[LIST_MAX + 1];
	size_t count;
};

static void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->entries[i].name);
	free(listing);
}

static void swap_entries(struct entry *left, struct entry *right)
{
	const struct entry saved = *left;
	*left = *right;
	*right = saved;
}

/* Let the entry at the top go down to where it belongs. */
static void sift_down(struct listing *listing)
{
	struct entry *entries = listing->entries;
	for (size_t at = 0;;) {
		size_t largest = at;
		for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < listing->count;
		     below++) {
			if (strcmp(entries[below].name, entries[largest].name) > 0)
				largest = below;
		}
		if (largest == at)
			return;
		swap_entries(&entries[at], &entries[largest]);
		at = largest;
	}
}

static void sift_up(struct listing *listing)
{
	struct entry *entries = listing->entries;
	for (size_t at = listing->count - 1; at > 0; at = (at - 1) / 2) {
		if (strcmp(entries[at].name, entries[(at - 1) / 2].name) <= 0)
			return;
		swap_entries(&entries[at], &entries[(at - 1) / 2]);
	}
}

/* Whether `name` would come behind all that have a place. */
static bool comes_too_late(const struct listing *listing, const char *name)
{
	return listing->count == LIST_MAX + 1 && strcmp(name, listing->entries[0].name) >= 0;
}

static int list_entry(struct listing *listing, const char *name, bool is_directory)
{
	const struct entry entry = {strdup(name), is_directory};
	if (entry.name == NULL)
		return -1;
	if (listing->count == LIST_MAX + 1) {
		free(listing->entries[0].name);
		listing->entries[0] = entry;
		sift_down(listing);
	} else {
		listing->entries[listing->count++] = entry;
		sift_up(listing);
	}
	return 0;
}

static int compare_entries(const void *left, const void *right)
{
	return strcmp(((const struct entry *)left)->name, ((const struct entry *)right)->name);
}

/* Whether the entry is shown, and whether as a directory. Links that lead outside, or to what is
 * private, are not. */
static bool is_shown(const struct iso_workspace *workspace, const struct iso_place *directory,
		     const char *name, bool *ret_is_directory)
{
	ISO_CLEANUP(iso_place_done) struct iso_place place = {.fd = -1};
	struct iso_error reason = {0};
	struct stat st;
	if (iso_name_is_private(name, workspace->private_names) ||
	    fstatat(directory->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_is_directory = S_ISDIR(st.st_mode);
	if (!S_ISLNK(st.st_mode))
		return true;
	ISO_AUTO_FREE char *path =
		*directory->path == '\0' ? strdup(name) : iso_strf("%s/%s", directory->path, name);
	if (path == NULL || iso_workspace_find(workspace, path, &place, &reason) < 0)
		return reason.os_errno == ENOENT; /* one that leads nowhere is only a name */
	*ret_is_directory = S_ISDIR(place.st.st_mode);
	return true;
}

static int read_entries(const struct iso_workspace *workspace, const struct iso_place *directory,
			struct listing *listing, struct iso_error *err)
{
	int fd = iso_place_open(directory, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		iso_fd_close(fd);
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "list \"%s\"", directory->path);
	}
	const struct dirent *entry;
	bool is_directory;
	int status = 0;
	while (status == 0 && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    comes_too_late(listing, entry->d_name) ||
		    !is_shown(workspace, directory, entry->d_name, &is_directory))
			continue;
		if (list_entry(listing, entry->d_name, is_directory) < 0)
			status = iso_error_nomem(err);
	}
	(void)closedir(dir); /* it was only read */
	if (listing->count > 1)
		qsort(listing->entries, listing->count, sizeof(*listing->entries), compare_entries);
	return status;
}

static int print_listing(const struct listing *listing, struct iso_text *ret_text,
			 struct iso_error *err)
{
	struct iso_json json;
	struct iso_text text = {.truncated = listing->count > LIST_MAX};
	cJSON *list = iso_json_begin_array(&json);
	for (size_t i = 0; i < listing->count && i < LIST_MAX; i++) {
		const struct entry *entry = &listing->entries[i];
		ISO_AUTO_FREE char *shown =
			iso_strf("%s%s", entry->name, entry->is_directory ? "/" : "");
		json.failed |= shown == NULL;
		iso_json_append_text(&json, list, shown);
	}
	if (iso_json_end(&json, list, &text.data, err) < 0)
		return -1;
	text.size = strlen(text.data);
	*ret_text = text;
	return 0;
}

int iso_tool_list(const struct iso_workspace *workspace, const char *path,
		  struct iso_text *ret_text, struct iso_error *err)
{
	ISO_CLEANUP(iso_place_done) struct iso_place place = {.fd = -1};
	if (iso_workspace_find(workspace, path, &place, err) < 0)
		return -1;
	if (!S_ISDIR(place.st.st_mode))
		return iso_error_set(err, ISO_ERR_SYSTEM, ENOTDIR, "list \"%s\"", path);
	struct listing *listing = calloc(1, sizeof(*listing));
	if (listing == NULL)
		return iso_error_nomem(err);
	int status = read_entries(workspace, &place, listing, err);
	if (status == 0)
		status = print_listing(listing, ret_text, err);
	listing_done(listing);
	return status;
}
