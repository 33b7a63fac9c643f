/*
 * Opening what callers name in a workspace (PATH-2 to PATH-4): one step on the root's descriptor,
 * beneath it, without magic links; judged by where the opened object is, not by what it was called.
 */
#ifndef ISORUN_WORKSPACE_PLACE_H
#define ISORUN_WORKSPACE_PLACE_H

#include <sys/stat.h>

#include "runner/base/text/strv.h"
#include "runner/isorun.h"

struct iso_workspace {
	char *root;			      /* owned; canonical */
	int root_fd;			      /* owned; O_PATH */
	const struct iso_strv *private_names; /* borrowed; beyond the built-in ones */
};

/* Open the directory `root`. Errors: ISO_ERR_INVALID, ISO_ERR_NOMEM. */
int iso_workspace_open(const char *root, const struct iso_strv *private_names,
		       struct iso_workspace *ret_workspace, struct iso_error *err);
void iso_workspace_close(struct iso_workspace *workspace);

/* Something in the workspace that is there. */
struct iso_place {
	int fd;	    /* owned; O_PATH */
	char *path; /* owned; relative to the root, links resolved; "" is the root */
	struct stat st;
};

/*
 * Find what `path` names. Symbolic links are followed as long as they stay beneath the root.
 *
 * Errors: ISO_ERR_DENIED "Path escapes workspace" or "Private or control path is excluded";
 * ISO_ERR_SYSTEM with errno (ENOENT when nothing is there).
 */
int iso_workspace_find(const struct iso_workspace *workspace, const char *path,
		       struct iso_place *ret_place, struct iso_error *err);
void iso_place_done(struct iso_place *place);

/* Open what was found, that very object, for reading. 0 or more, or -1 with errno. */
int iso_place_open(const struct iso_place *place, int flags);

/*
 * The directory in which `path` is to be, made with its parents where it is missing; `ret_name` (in
 * `path`) is the last component. What was made goes again when that fails.
 *
 * ret_made_length  of the outermost directory that was made, how much of `path` names it; 0: none
 */
int iso_workspace_find_parent(const struct iso_workspace *workspace, const char *path,
			      struct iso_place *ret_parent, const char **ret_name,
			      size_t *ret_made_length, struct iso_error *err);

/* Remove the directories that were made for `path`, as far as they are empty. Keeps errno. */
void iso_workspace_remove_made(const struct iso_workspace *workspace, const char *path,
			       size_t made_length);

#endif
