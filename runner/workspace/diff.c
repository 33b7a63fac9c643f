/*
 * Both trees are walked side by side with an explicit stack; names are sorted, so every directory
 * is one merge. Lists keep the bytewise first paths and count the rest.
 */
#include "runner/workspace/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/base/text/utf8.h"

#define REDACTED "[redacted]"

/* A pair of directories being merged; either may be missing. */
struct pair {
	const struct iso_snapshot_dir *before, *after;
	uint32_t next_before, next_after;
	size_t path_length; /* of the directory's path, with its slash */
};

struct merge {
	struct pair *stack; /* owned */
	size_t depth, capacity;
	char *path; /* owned; of the entry at hand, raw bytes */
	size_t path_capacity;
	char *const *protected_paths;
	struct iso_diff *diff;
	bool no_memory;
};

static bool reserve_path(struct merge *merge, size_t size)
{
	if (size <= merge->path_capacity)
		return true;
	size_t capacity = merge->path_capacity > 0 ? merge->path_capacity : 256;
	while (capacity < size)
		capacity *= 2;
	char *grown = realloc(merge->path, capacity);
	if (grown == NULL) {
		merge->no_memory = true;
		return false;
	}
	merge->path = grown;
	merge->path_capacity = capacity;
	return true;
}

/* Set the path of `name` in the directory of `pair`. */
static bool set_path(struct merge *merge, const struct pair *pair, const char *name)
{
	size_t size = strlen(name) + 1;
	if (!reserve_path(merge, pair->path_length + size))
		return false;
	memcpy(merge->path + pair->path_length, name, size);
	return true;
}

static bool push(struct merge *merge, const struct iso_snapshot_dir *before,
		 const struct iso_snapshot_dir *after)
{
	size_t length = merge->depth == 0 ? 0 : strlen(merge->path);
	if (!iso_array_reserve(&merge->stack, &merge->capacity, merge->depth + 1,
			       sizeof(*merge->stack))) {
		merge->no_memory = true;
		return false;
	}
	if (merge->depth > 0) {
		if (!reserve_path(merge, length + 2))
			return false;
		merge->path[length++] = '/';
		merge->path[length] = '\0';
	}
	merge->stack[merge->depth++] = (struct pair){before, after, 0, 0, length};
	return true;
}

/* Escape `path` into `shown`; false when it had to be cut. */
static bool show_path(const char *path, char shown[ISO_DIFF_PATH_MAX + 1])
{
	size_t used = 0;
	const uint8_t *at = (const uint8_t *)path;
	for (size_t left = strlen(path); left > 0;) {
		char piece[5];
		size_t taken = iso_utf8_sequence(at, left), size;
		if (taken == 0) {
			size = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", *at);
			taken = 1;
		} else if (*at == '\\') {
			size = 2;
			memcpy(piece, "\\\\", 2);
		} else {
			size = taken;
			memcpy(piece, at, taken);
		}
		if (used + size > ISO_DIFF_PATH_MAX) {
			shown[used] = '\0';
			return false;
		}
		memcpy(shown + used, piece, size);
		used += size;
		at += taken;
		left -= taken;
	}
	shown[used] = '\0';
	return true;
}

/* Replace each component that betrays a secret; true when there was one. `path` is changed back. */
static bool redact(const char *path, char *ret_redacted, size_t size)
{
	bool found = false;
	size_t used = 0;
	for (const char *component = path;; component++) {
		size_t length = strcspn(component, "/");
		char name[256];
		bool secret = false;
		if (length < sizeof(name)) {
			memcpy(name, component, length);
			name[length] = '\0';
			secret = iso_diff_is_secret(name);
		}
		int written =
			snprintf(ret_redacted + used, size - used, "%s%.*s", used > 0 ? "/" : "",
				 secret ? (int)strlen(REDACTED) : (int)length,
				 secret ? REDACTED : component);
		used += (size_t)written;
		found |= secret;
		component += length;
		if (*component == '\0' || used >= size)
			return found;
	}
}

/* Insert into the sorted list; the last one falls out when it is full. */
static bool insert(struct iso_diff_list *list, const char *shown, const char *why)
{
	size_t at = list->count;
	while (at > 0 && strcmp(list->paths[at - 1], shown) > 0)
		at--;
	if (at == ISO_DIFF_LIST_MAX)
		return true;
	char *copy = strdup(shown);
	if (copy == NULL)
		return false;
	if (list->count == ISO_DIFF_LIST_MAX)
		free(list->paths[--list->count]);
	memmove(list->paths + at + 1, list->paths + at, (list->count - at) * sizeof(*list->paths));
	memmove(list->whys + at + 1, list->whys + at, (list->count - at) * sizeof(*list->whys));
	list->paths[at] = copy;
	list->whys[at] = why;
	list->count++;
	return true;
}

static void add(struct merge *merge, struct iso_diff_list *list, const char *why)
{
	char shown[ISO_DIFF_PATH_MAX + 1];
	char redacted[2 * ISO_DIFF_PATH_MAX];
	const char *path = merge->path;
	list->total++;
	if (redact(merge->path, redacted, sizeof(redacted))) {
		path = redacted;
		if (why == NULL) /* counted once, not for the sensitive list again */
			merge->diff->redacted++;
	}
	if (!show_path(path, shown) || list->total > ISO_DIFF_LIST_MAX)
		merge->diff->truncated = true;
	if (!insert(list, shown, why))
		merge->no_memory = true;
}

static bool is_protected(const struct merge *merge)
{
	for (char *const *path = merge->protected_paths; path != NULL && *path != NULL; path++) {
		if (strcmp(*path, merge->path) == 0)
			return true;
	}
	return false;
}

/* Note a created or modified entry, and whether later programs would obey it. */
static void note_new(struct merge *merge, const struct iso_snapshot_entry *entry,
		     struct iso_diff_list *list)
{
	add(merge, list, NULL);
	const char *why = is_protected(merge) ? "it is protected"
			  : S_ISREG(entry->mode) && (entry->mode & (S_ISUID | S_ISGID)) != 0
				  ? "it runs with the rights of its owner or group"
				  : iso_diff_sensitive_reason(merge->path);
	if (why != NULL)
		add(merge, &merge->diff->sensitive, why);
}

static bool is_modified(const struct iso_snapshot_entry *before,
			const struct iso_snapshot_entry *after)
{
	if (before->mode == 0 || after->mode == 0)
		return false; /* nobody knows */
	if (before->mode != after->mode || before->uid != after->uid || before->gid != after->gid)
		return true;
	if (S_ISDIR(before->mode)) /* new names in it stamp both; new attributes only the first */
		return before->ctime_ns != after->ctime_ns && before->mtime_ns == after->mtime_ns;
	return before->ctime_ns != after->ctime_ns || before->ino != after->ino ||
	       before->size_bytes != after->size_bytes;
}

static bool is_directory(const struct iso_snapshot_entry *entry)
{
	return entry != NULL && S_ISDIR(entry->mode);
}

static const struct iso_snapshot_dir *content_of(const struct iso_snapshot_entry *entry)
{
	return is_directory(entry) ? entry->dir : NULL;
}

/* Whether there is something to compare below. What could be looked into only once is no change. */
static bool must_enter(const struct iso_snapshot_entry *before,
		       const struct iso_snapshot_entry *after)
{
	if ((before != NULL && before->mode == 0) || (after != NULL && after->mode == 0))
		return false;
	bool had = content_of(before) != NULL, has = content_of(after) != NULL;
	return is_directory(before) && is_directory(after) ? had && has : had || has;
}

/* Whether a file that others obey cannot be looked at any more: then it counts as modified. */
static bool is_hidden(const struct merge *merge, const struct iso_snapshot_entry *before,
		      const struct iso_snapshot_entry *after)
{
	return before->mode != 0 && after->mode == 0 &&
	       (is_protected(merge) || iso_diff_sensitive_reason(merge->path) != NULL);
}

/* The next names of both sides compared: < 0 only before, > 0 only after, 0 both. */
static int compare_next(const struct pair *pair)
{
	bool has_before = pair->before != NULL && pair->next_before < pair->before->count;
	bool has_after = pair->after != NULL && pair->next_after < pair->after->count;
	if (!has_before || !has_after)
		return has_before ? -1 : 1;
	return strcmp(iso_snapshot_name(pair->before, pair->next_before),
		      iso_snapshot_name(pair->after, pair->next_after));
}

static bool is_finished(const struct pair *pair)
{
	return (pair->before == NULL || pair->next_before == pair->before->count) &&
	       (pair->after == NULL || pair->next_after == pair->after->count);
}

/* Take the next name of the innermost pair. */
static void step(struct merge *merge)
{
	struct pair *pair = &merge->stack[merge->depth - 1];
	int order = compare_next(pair);
	const struct iso_snapshot_entry *before = NULL, *after = NULL;
	const char *name = NULL;
	if (order <= 0) {
		name = iso_snapshot_name(pair->before, pair->next_before);
		before = &pair->before->entries[pair->next_before++];
	}
	if (order >= 0) {
		name = iso_snapshot_name(pair->after, pair->next_after);
		after = &pair->after->entries[pair->next_after++];
	}
	if (!set_path(merge, pair, name))
		return;
	if (before == NULL)
		note_new(merge, after, &merge->diff->created);
	else if (after == NULL)
		add(merge, &merge->diff->deleted, NULL);
	else if (is_modified(before, after) || is_hidden(merge, before, after))
		note_new(merge, after, &merge->diff->modified);
	if (must_enter(before, after))
		(void)push(merge, content_of(before), content_of(after)); /* notes its failure */
}

int iso_diff_compare(const struct iso_snapshot *before, const struct iso_snapshot *after,
		     char *const *protected_paths, struct iso_diff *ret_diff, struct iso_error *err)
{
	struct iso_diff diff = {
		.files = after->entry_count,
		.incomplete = before->incomplete != NULL ? before->incomplete : after->incomplete,
	};
	struct merge merge = {.protected_paths = protected_paths, .diff = &diff};
	if (before->root != NULL && after->root != NULL &&
	    push(&merge, before->root, after->root)) {
		while (merge.depth > 0 && !merge.no_memory) {
			if (is_finished(&merge.stack[merge.depth - 1]))
				merge.depth--;
			else
				step(&merge);
		}
	}
	free(merge.stack);
	free(merge.path);
	if (merge.no_memory) {
		iso_diff_done(&diff);
		return iso_error_nomem(err);
	}
	*ret_diff = diff;
	return 0;
}

static void free_list(struct iso_diff_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	list->count = 0;
}

void iso_diff_done(struct iso_diff *diff)
{
	free_list(&diff->created);
	free_list(&diff->modified);
	free_list(&diff->deleted);
	free_list(&diff->sensitive);
}
