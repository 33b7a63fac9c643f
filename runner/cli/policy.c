/* What narrowing needs of the host is found out here: the machine's memory, where a workspace
 * is. */
#include "runner/cli/policy.h"

#include "sandbox/host.h"

int cli_find_writable(struct cli_run *run, const struct iso_loaded_policy *loaded,
		      struct iso_error *err)
{
	const char *named = run->request.workspace;
	struct iso_named_path workspace;
	int status = named == NULL && loaded != NULL
			     ? iso_named_path_of(loaded->workspace.root_fd, loaded->policy.root,
						 "the workspace", &workspace, err)
			     : iso_named_path_open(named != NULL ? named : ".", "the workspace",
						   &workspace, err);
	if (status < 0 ||
	    iso_writable_add(&run->writable, &workspace, named != NULL ? named : ".", err) < 0 ||
	    iso_writable_add_mounts(&run->writable, run->mounts, run->mount_count, err) < 0)
		return -1;
	run->request.workspace_fd = run->writable.places[0].fd;
	return 0;
}

static int narrow(struct cli_run *run, struct cli_policy *policy, struct iso_error *err)
{
	struct iso_request granted = run->request;
	bool may_write = (policy->loaded.policy.permissions & ISO_PERMISSION_WRITE) != 0;
	uint64_t machine_bytes;
	const struct iso_asked asked = {
		.request = &run->request,
		.workspace = run->request.workspace != NULL ? run->writable.places[0].path : NULL,
		.passed = &run->passed,
	};
	if ((asked.workspace != NULL && iso_policy_check_protected(&policy->loaded, err) < 0) ||
	    iso_host_memory(&machine_bytes, err) < 0 ||
	    iso_policy_fill_request(&policy->loaded, may_write, &policy->storage, &granted, err) <
		    0 ||
	    iso_narrow(&policy->loaded.policy, &granted, &asked, machine_bytes, &policy->narrowed,
		       err) < 0)
		return -1;
	run->request = policy->narrowed.request;
	/* What the policy binds writable is the payload's, too. */
	return iso_writable_add_mounts(&run->writable, granted.mounts, granted.mount_count, err);
}

int cli_policy_apply(struct cli_run *run, struct cli_policy *ret_policy, struct iso_error *err)
{
	*ret_policy = (struct cli_policy){.loaded = {.workspace = {.root_fd = -1}}};
	if (run->policy != NULL && iso_policy_load(run->policy, &ret_policy->loaded, err) < 0)
		return -1;
	if (cli_find_writable(run, run->policy != NULL ? &ret_policy->loaded : NULL, err) < 0 ||
	    (run->policy != NULL && narrow(run, ret_policy, err) < 0))
		return -1;
	return cli_run_open_stdin(run, err);
}

void cli_policy_done(struct cli_policy *policy)
{
	iso_narrowed_done(&policy->narrowed);
	iso_policy_request_done(&policy->storage);
	iso_policy_unload(&policy->loaded);
}
