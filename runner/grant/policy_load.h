/* A policy as it is in force: read, its root resolved once (POL-1, POL-2), its digest kept. */
#ifndef ISORUN_GRANT_POLICY_LOAD_H
#define ISORUN_GRANT_POLICY_LOAD_H

#include "policy/evaluate.h"
#include "runner/base/digest.h"
#include "runner/workspace/place.h"
#include "runner/workspace/writable.h"

struct iso_loaded_policy {
	struct iso_policy policy;	  /* its root is canonical */
	char sha256[ISO_SHA256_HEX_SIZE]; /* of the file */
	struct iso_workspace workspace;
	struct iso_writable writable; /* the root, and what the policy binds writable */
};

/*
 * Load the policy file `path`.
 *
 * Errors: ISO_ERR_INVALID: the file, its text, its root, or that it lies in its own workspace;
 * ISO_ERR_NOMEM. `ret_loaded` must not move afterwards.
 */
int iso_policy_load(const char *path, struct iso_loaded_policy *ret_loaded, struct iso_error *err);
void iso_policy_unload(struct iso_loaded_policy *loaded);

/*
 * Refuse the operator's `path` where a payload of this policy could write it, whether it exists yet
 * or not; NULL: none is named. `what` completes "use … \"path\"". Errors: ISO_ERR_INVALID.
 */
int iso_policy_check_place(const struct iso_loaded_policy *loaded, const char *path,
			   const char *what, struct iso_error *err);

/*
 * Refuse to narrow the workspace while a link stands on the way to a protected path: where that
 * leads a payload may have chosen, and whether it is in the workspace cannot be said by name. What
 * is protected and not there is fine. Errors: ISO_ERR_DENIED.
 */
int iso_policy_check_protected(const struct iso_loaded_policy *loaded, struct iso_error *err);

/* Storage that a request made from a policy borrows. */
struct iso_policy_request {
	struct iso_mount *mounts;	 /* owned */
	struct iso_strv env;		 /* owned */
	struct iso_strv protected_paths; /* owned; absolute */
};

/*
 * Fill the sandbox side of a request with what the policy says: workspace, limits, mounts,
 * environment, protections, filter, capabilities (POL-7).
 *
 * Errors: ISO_ERR_INVALID (a capability's name); ISO_ERR_NOMEM.
 */
int iso_policy_fill_request(const struct iso_loaded_policy *loaded, bool workspace_write,
			    struct iso_policy_request *ret_storage, struct iso_request *request,
			    struct iso_error *err);
void iso_policy_request_done(struct iso_policy_request *storage);

#endif
