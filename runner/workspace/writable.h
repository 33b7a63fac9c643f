/*
 * Where payloads can write on the host: the workspace, and every directory that is bound writable.
 * What lies there was in the hands of whoever ran there before.
 */
#ifndef ISORUN_WORKSPACE_WRITABLE_H
#define ISORUN_WORKSPACE_WRITABLE_H

#include <stddef.h>

#include "runner/workspace/named_path.h"

/* A zeroed value has no places. */
struct iso_writable {
	struct iso_named_path *places; /* owned */
	char **names;		       /* owned; as they were given */
	size_t count;
};

/*
 * Add a place.
 *
 * place  taken over, also on failure
 * named  its name as it was given
 *
 * Errors: ISO_ERR_NOMEM.
 */
int iso_writable_add(struct iso_writable *writable, struct iso_named_path *place, const char *named,
		     struct iso_error *err);

/* Add the sources of the writable binds among `mounts`; one that is not there is left to whoever
 * wants to bind it. Errors: ISO_ERR_NOMEM. */
int iso_writable_add_mounts(struct iso_writable *writable, const struct iso_mount *mounts,
			    size_t count, struct iso_error *err);

/* No place may be named through another one's links (`--rw data --rw data/out`): whoever ran in the
 * one could have chosen the other. Errors: ISO_ERR_DENIED. */
int iso_writable_check(const struct iso_writable *writable, struct iso_error *err);

/*
 * As iso_named_path_open for what may lie in such a place, where an earlier run can have put a
 * link: from the place on, `path` must not lead out of it. Further error: ISO_ERR_DENIED.
 */
int iso_writable_open_beside(const struct iso_writable *writable, const char *path,
			     const char *what, struct iso_named_path *ret_named,
			     struct iso_error *err);

/* The place that `path`, as it is written, comes to and stays in, links aside; NULL: none. What it
 * names may be another run's work. A path that cannot be judged is in the first place. */
const struct iso_named_path *iso_writable_holds_name(const struct iso_writable *writable,
						     const char *path);

/* The place that the canonical `path` lies in; NULL: none. */
const struct iso_named_path *iso_writable_holds(const struct iso_writable *writable,
						const char *path);

/*
 * Refuse a file that isorun obeys or keeps its truth in where a payload may have written it, or the
 * link that leads to it, or another name of the same file.
 *
 * named  the name as it was given
 * found  what it named; NULL: not known, or not there yet
 * what   completes "use … \"path\"", e.g. "the policy"
 *
 * Errors: ISO_ERR_INVALID names both.
 */
int iso_writable_refuse(const struct iso_writable *writable, const char *named,
			const struct iso_named_path *found, const char *what,
			struct iso_error *err);

void iso_writable_done(struct iso_writable *writable);

#endif
