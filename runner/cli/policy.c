/*
 * Limits take the smaller value; what has no order (mounts, roots, capabilities) must be in the
 * policy.
 */
#include "runner/cli/policy.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/plan/build.h"

static int widens(struct iso_error *err, const char *option)
{
	return iso_error_set(err, ISO_ERR_DENIED, 0,
			     "read option --%s: an option narrows a policy and never widens it",
			     option);
}

/* Options that cannot narrow. */
static int check_options(const struct cli_run *run, const struct iso_policy *policy,
			 uint64_t policy_capabilities, struct iso_error *err)
{
	if ((policy->permissions & ISO_PERMISSION_EXECUTE) == 0)
		return iso_error_set(err, ISO_ERR_DENIED, 0, "Required permission is disabled");
	if (run->request.rootfs != NULL)
		return widens(err, "rootfs");
	if (run->request.cgroup_optional)
		return widens(err, "cgroup");
	if (run->request.seccomp_profile != NULL && policy->seccomp != NULL)
		return widens(err, "seccomp");
	if (run->request.capabilities != 0 &&
	    ((policy->permissions & ISO_PERMISSION_PRIVILEGED) == 0 ||
	     (run->request.capabilities & ~policy_capabilities) != 0))
		return widens(err, "cap");
	for (size_t i = 0; i < run->mount_count; i++) {
		enum iso_mount_kind kind = run->mounts[i].kind;
		if (kind == ISO_MOUNT_RO || kind == ISO_MOUNT_RW)
			return widens(err, kind == ISO_MOUNT_RO ? "ro" : "rw");
	}
	for (size_t i = 0; i < run->passed.count; i++) {
		bool listed = false;
		for (size_t j = 0; j < policy->pass_environment.count; j++)
			listed |= strcmp(run->passed.items[i], policy->pass_environment.items[j]) ==
				  0;
		if (!listed)
			return widens(err, "pass-env");
	}
	return 0;
}

/* The smaller of what was asked for and what the policy, or its silence, grants. */
static uint64_t narrower(uint64_t asked, uint64_t granted, uint64_t standard)
{
	uint64_t most = granted == ISO_DEFAULT ? standard : granted;
	if (asked == ISO_DEFAULT || asked == ISO_UNLIMITED)
		return granted;
	return asked < most ? asked : most;
}

static int narrow_workspace(const struct cli_run *run, const struct iso_policy *policy,
			    struct iso_request *request, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (run->request.workspace == NULL)
		return 0; /* the policy's root */
	if (iso_named_path_open(run->request.workspace, "the workspace", &named, err) < 0)
		return -1;
	if (!iso_path_is_beneath(named.path, policy->root))
		return widens(err, "workspace");
	request->workspace = run->request.workspace;
	return 0;
}

/* Both lists, the policy's first: a variable or mount of the options comes on top. */
static int join_lists(const struct cli_run *run, struct cli_policy *policy,
		      struct iso_request *request, struct iso_error *err)
{
	policy->mounts =
		calloc(request->mount_count + run->mount_count + 1, sizeof(*policy->mounts));
	if (policy->mounts == NULL)
		return iso_error_nomem(err);
	memcpy(policy->mounts, request->mounts, request->mount_count * sizeof(*policy->mounts));
	if (run->mount_count > 0)
		memcpy(policy->mounts + request->mount_count, run->mounts,
		       run->mount_count * sizeof(*policy->mounts));
	request->mounts = policy->mounts;
	request->mount_count += run->mount_count;
	const struct iso_strv *parts[] = {&policy->storage.env, &run->env};
	for (int part = 0; part < 2; part++) {
		for (size_t i = 0; i < parts[part]->count; i++) {
			if (iso_strv_set_variable(&policy->env, parts[part]->items[i]) < 0)
				return iso_error_nomem(err);
		}
	}
	request->env = (const char *const *)policy->env.items;
	return 0;
}

static int apply(struct cli_run *run, struct cli_policy *policy, struct iso_error *err)
{
	const struct iso_policy *said = &policy->loaded.policy;
	struct iso_request request = run->request;
	bool may_write = (said->permissions & ISO_PERMISSION_WRITE) != 0;
	uint64_t machine_bytes;
	if (iso_host_memory(&machine_bytes, err) < 0 ||
	    iso_policy_fill_request(&policy->loaded, may_write, &policy->storage, &request, err) <
		    0 ||
	    check_options(run, said, request.capabilities, err) < 0 ||
	    narrow_workspace(run, said, &request, err) < 0 ||
	    join_lists(run, policy, &request, err) < 0)
		return -1;
	const struct iso_request *asked = &run->request;
	request.workspace_read_only |= asked->workspace_read_only;
	request.memory_max_bytes = narrower(asked->memory_max_bytes, said->limits.memory_bytes,
					    iso_default_memory(machine_bytes));
	request.pids_max_count =
		narrower(asked->pids_max_count, said->limits.pids, ISO_DEFAULT_PIDS);
	request.nofile_max_count =
		narrower(asked->nofile_max_count, said->limits.nofile, ISO_DEFAULT_NOFILE_HARD);
	request.tmp_size_bytes =
		narrower(asked->tmp_size_bytes, said->limits.tmp_bytes, ISO_DEFAULT_TMP_BYTES);
	request.cpu_max_millis =
		narrower(asked->cpu_max_millis, request.cpu_max_millis, ISO_UNLIMITED);
	request.fsize_max_bytes =
		narrower(asked->fsize_max_bytes, request.fsize_max_bytes, ISO_UNLIMITED);
	request.wall_limit_ms = narrower(asked->wall_limit_ms, said->timeout_ms, ISO_UNLIMITED);
	request.output_limit_bytes =
		narrower(asked->output_limit_bytes, said->output_limit_bytes, ISO_UNLIMITED);
	if (asked->seccomp_profile != NULL)
		request.seccomp_profile = asked->seccomp_profile;
	if (said->detached_given && asked->detached == ISO_DETACHED_KILL)
		request.detached = said->detached;
	run->request = request;
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
	iso_policy_request_done(&policy->storage);
	free(policy->mounts);
	iso_strv_done(&policy->env);
	iso_policy_unload(&policy->loaded);
}
