/* The grant of run and plan: the workspace, opened once, and with `--policy` what that says,
 * narrowed by the other options. */
#ifndef ISORUN_CLI_POLICY_H
#define ISORUN_CLI_POLICY_H

#include "runner/cli/cli.h"
#include "runner/grant/narrow.h"
#include "runner/grant/policy_load.h"

struct cli_policy {
	struct iso_loaded_policy loaded;
	struct iso_policy_request storage;
	struct iso_narrowed narrowed;
};

/*
 * Load run->policy, where there is one, open the workspace and narrow run->request. `ret_policy`
 * must outlive the request.
 *
 * Errors: ISO_ERR_INVALID, and ISO_ERR_DENIED for an option that would widen the policy.
 */
int cli_policy_apply(struct cli_run *run, struct cli_policy *ret_policy, struct iso_error *err);
/*
 * Find out where the payload will be able to write, as far as the options say; the one time that
 * the workspace is looked up by the name that was given.
 *
 * loaded  the policy, whose root is the workspace where none is named; NULL: none
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_NOMEM.
 */
int cli_find_writable(struct cli_run *run, const struct iso_loaded_policy *loaded,
		      struct iso_error *err);

void cli_policy_done(struct cli_policy *policy);

#endif
