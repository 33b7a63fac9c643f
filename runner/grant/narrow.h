/*
 * What a caller asks for under a policy can only narrow it: limits take the smaller value; what has
 * no order (mounts, roots, capabilities) must be in the policy. A pure function of both.
 */
#ifndef ISORUN_GRANT_NARROW_H
#define ISORUN_GRANT_NARROW_H

#include "policy/policy.h"
#include "runner/base/text/strv.h"
#include "runner/isorun.h"

/* What is asked for. All borrowed. */
struct iso_asked {
	const struct iso_request *request; /* defaults where nothing is asked for */
	const char *workspace; /* canonical path of the request's workspace; NULL: not asked for */
	const struct iso_strv *passed; /* names of variables to be taken from outside */
};

/* A request that grants nothing that the policy alone does not. */
struct iso_narrowed {
	struct iso_request request; /* refers to what follows, to the policy's and to the asked */
	struct iso_mount *mounts;   /* owned; those of the policy, then those asked for */
	struct iso_strv env;	    /* owned; likewise */
};

/*
 * Narrow `granted`, which is what the policy alone says (iso_policy_fill_request), by `asked`.
 *
 * machine_bytes  the machine's memory, on which a default depends
 *
 * Errors: ISO_ERR_DENIED names the option that would widen the policy; ISO_ERR_NOMEM. Thread-safe.
 */
int iso_narrow(const struct iso_policy *policy, const struct iso_request *granted,
	       const struct iso_asked *asked, uint64_t machine_bytes,
	       struct iso_narrowed *ret_narrowed, struct iso_error *err);

/* A zeroed value is fine. */
void iso_narrowed_done(struct iso_narrowed *narrowed);

#endif
