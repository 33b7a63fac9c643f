/* What narrowing needs of the host is found out here: the machine's memory, where a workspace
 * is. */
#include "runner/cli/policy.h"

#include "runner/base/cleanup.h"
#include "runner/workspace/named_path.h"
#include "sandbox/host.h"

static int apply(struct cli_run *run, struct cli_policy *policy, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	struct iso_request granted = run->request;
	bool may_write = (policy->loaded.policy.permissions & ISO_PERMISSION_WRITE) != 0;
	uint64_t machine_bytes;
	if (iso_host_memory(&machine_bytes, err) < 0 ||
	    iso_policy_fill_request(&policy->loaded, may_write, &policy->storage, &granted, err) <
		    0 ||
	    (run->request.workspace != NULL &&
	     iso_named_path_open(run->request.workspace, "the workspace", &named, err) < 0))
		return -1;
	const struct iso_asked asked = {&run->request, named.path, &run->passed};
	if (iso_narrow(&policy->loaded.policy, &granted, &asked, machine_bytes, &policy->narrowed,
		       err) < 0)
		return -1;
	run->request = policy->narrowed.request;
	return 0;
}

int cli_policy_apply(struct cli_run *run, struct cli_policy *ret_policy, struct iso_error *err)
{
	*ret_policy = (struct cli_policy){.loaded = {.workspace = {.root_fd = -1}}};
	if (run->policy == NULL)
		return 0;
	if (iso_policy_load(run->policy, &ret_policy->loaded, err) < 0)
		return -1;
	return apply(run, ret_policy, err);
}

void cli_policy_done(struct cli_policy *policy)
{
	iso_narrowed_done(&policy->narrowed);
	iso_policy_request_done(&policy->storage);
	iso_policy_unload(&policy->loaded);
}
