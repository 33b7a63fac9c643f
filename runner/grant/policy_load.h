/* A policy as it is in force: read, its root resolved once (POL-1, POL-2), its digest kept. */
#ifndef ISORUN_GRANT_POLICY_LOAD_H
#define ISORUN_GRANT_POLICY_LOAD_H

#include "policy/evaluate.h"
#include "runner/base/digest.h"
#include "runner/workspace/place.h"

struct iso_loaded_policy {
	struct iso_policy policy;	  /* its root is canonical */
	char sha256[ISO_SHA256_HEX_SIZE]; /* of the file */
	struct iso_workspace workspace;
};

/*
 * Load the policy file `path`.
 *
 * Errors: ISO_ERR_INVALID: the file, its text, its root, or that it lies in its own workspace;
 * ISO_ERR_NOMEM. `ret_loaded` must not move afterwards.
 */
int iso_policy_load(const char *path, struct iso_loaded_policy *ret_loaded, struct iso_error *err);
void iso_policy_unload(struct iso_loaded_policy *loaded);

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
