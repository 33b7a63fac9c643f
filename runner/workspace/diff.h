/*
 * What a run changed: two snapshots compared (DIFF-2 to DIFF-5).
 *
 * Paths are relative to the workspace and written so that every name survives: bytes that are not
 * valid UTF-8 as \xHH, a backslash as \\.
 */
#ifndef ISORUN_WORKSPACE_DIFF_H
#define ISORUN_WORKSPACE_DIFF_H

#include "runner/workspace/snapshot.h"

#define ISO_DIFF_LIST_MAX 100 /* paths a list holds */
#define ISO_DIFF_PATH_MAX 500 /* bytes a path is shown with */

/* The first paths in bytewise order, and how many there were. */
struct iso_diff_list {
	char *paths[ISO_DIFF_LIST_MAX];	     /* owned */
	const char *whys[ISO_DIFF_LIST_MAX]; /* static; of the sensitive list only */
	size_t count;
	uint64_t total;
};

struct iso_diff {
	struct iso_diff_list created, modified, deleted;
	struct iso_diff_list sensitive; /* created or modified, and obeyed by later programs */
	uint64_t redacted;		/* names that betray secrets and are not shown */
	uint64_t files;			/* entries in the second snapshot */
	bool truncated;			/* a list or a path was cut */
	const char *incomplete;		/* why a snapshot was (ISO_CUT_*), or NULL. Static. */
};

/*
 * Compare `before` and `after`.
 *
 * protected  workspace-relative paths whose creation is sensitive, too; NULL-terminated, or NULL
 *
 * Errors: ISO_ERR_NOMEM.
 */
int iso_diff_compare(const struct iso_snapshot *before, const struct iso_snapshot *after,
		     char *const *protected_paths, struct iso_diff *ret_diff,
		     struct iso_error *err);

/* The lines of iso_result_diff_text, as text that the caller frees. */
int iso_diff_print(const struct iso_diff *diff, char **ret_text, struct iso_error *err);

void iso_diff_done(struct iso_diff *diff);

/* Whether a file name betrays a secret: .env, .env.*, *.pem, *.key, id_rsa, id_ed25519, .netrc,
 * .pgpass, in any case (DIFF-3). */
bool iso_diff_is_secret(const char *name);

/* Why programs outside would obey the file at the workspace-relative `path`, or NULL. Static. */
const char *iso_diff_sensitive_reason(const char *path);

#endif
