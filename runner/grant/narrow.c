/* First what cannot narrow is refused, then the lists are joined, then each limit takes the smaller
 * value of what was asked for and what the policy, or its silence, grants. */
#include "runner/grant/narrow.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/plan/defaults.h"

static int widens(struct iso_error *err, const char *option)
{
	return iso_error_set(err, ISO_ERR_DENIED, 0,
			     "read option --%s: an option narrows a policy and never widens it",
			     option);
}

/* What has no order: it is in the policy, or refused. */
static int check_unordered(const struct iso_policy *policy, const struct iso_request *granted,
			   const struct iso_asked *asked, struct iso_error *err)
{
	const struct iso_request *request = asked->request;
	bool privileged = (policy->permissions & ISO_PERMISSION_PRIVILEGED) != 0;
	if ((policy->permissions & ISO_PERMISSION_EXECUTE) == 0)
		return iso_error_set(err, ISO_ERR_DENIED, 0, "Required permission is disabled");
	if (request->rootfs != NULL)
		return widens(err, "rootfs");
	if (request->cgroup_optional)
		return widens(err, "cgroup");
	if (request->seccomp_profile != NULL && policy->seccomp != NULL)
		return widens(err, "seccomp");
	if (request->capabilities != 0 &&
	    (!privileged || (request->capabilities & ~granted->capabilities) != 0))
		return widens(err, "cap");
	for (size_t i = 0; i < request->mount_count; i++) {
		enum iso_mount_kind kind = request->mounts[i].kind;
		if (kind == ISO_MOUNT_RO || kind == ISO_MOUNT_RW)
			return widens(err, kind == ISO_MOUNT_RO ? "ro" : "rw");
	}
	for (size_t i = 0; i < asked->passed->count; i++) {
		if (!iso_strv_holds(&policy->pass_environment, asked->passed->items[i]))
			return widens(err, "pass-env");
	}
	if (asked->workspace != NULL && !iso_path_is_beneath(asked->workspace, policy->root))
		return widens(err, "workspace");
	return 0;
}

/* Whether a protection of the policy's has a place in `workspace` (NULL: the policy's own root). */
static bool has_place(const struct iso_mount *mount, const char *workspace)
{
	return mount->kind != ISO_MOUNT_PROTECT || workspace == NULL ||
	       (iso_path_is_beneath(mount->target, workspace) &&
		strcmp(mount->target, workspace) != 0);
}

static int join_mounts(const struct iso_request *granted, const struct iso_asked *asked,
		       struct iso_narrowed *narrowed, struct iso_error *err)
{
	const struct iso_request *wanted = asked->request;
	size_t most = granted->mount_count + wanted->mount_count, count = 0;
	if (most == 0)
		return 0;
	narrowed->mounts = calloc(most, sizeof(*narrowed->mounts));
	if (narrowed->mounts == NULL)
		return iso_error_nomem(err);
	for (size_t i = 0; i < granted->mount_count; i++) {
		if (has_place(&granted->mounts[i], asked->workspace))
			narrowed->mounts[count++] = granted->mounts[i];
	}
	for (size_t i = 0; i < wanted->mount_count; i++)
		narrowed->mounts[count++] = wanted->mounts[i];
	narrowed->request.mounts = narrowed->mounts;
	narrowed->request.mount_count = count;
	return 0;
}

/* Whether the policy protects a place that the whole workspace lies in. */
static bool is_protected(const struct iso_request *granted, const char *workspace)
{
	for (size_t i = 0; i < granted->mount_count; i++) {
		const struct iso_mount *mount = &granted->mounts[i];
		if (mount->kind == ISO_MOUNT_PROTECT &&
		    iso_path_is_beneath(workspace, mount->target))
			return true;
	}
	return false;
}

static void narrow_workspace(const struct iso_request *granted, const struct iso_asked *asked,
			     struct iso_request *request)
{
	const struct iso_request *wanted = asked->request;
	request->workspace_read_only |= wanted->workspace_read_only;
	if (asked->workspace == NULL)
		return;
	request->workspace = wanted->workspace;
	request->workspace_fd = wanted->workspace_fd;
	request->workspace_read_only |= is_protected(granted, asked->workspace);
}

/* A variable that is asked for comes on top. */
static int join_environment(const struct iso_request *granted, const struct iso_request *asked,
			    struct iso_narrowed *narrowed, struct iso_error *err)
{
	const char *const *const parts[] = {granted->env, asked->env};
	for (int part = 0; part < 2; part++) {
		for (const char *const *item = parts[part]; item != NULL && *item != NULL; item++) {
			if (iso_strv_set_variable(&narrowed->env, *item) < 0)
				return iso_error_nomem(err);
		}
	}
	narrowed->request.env = (const char *const *)narrowed->env.items;
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

static void narrow_limits(const struct iso_policy *policy, const struct iso_request *granted,
			  const struct iso_request *asked, uint64_t machine_bytes,
			  struct iso_request *request)
{
	request->memory_max_bytes = narrower(asked->memory_max_bytes, granted->memory_max_bytes,
					     iso_default_memory(machine_bytes));
	request->pids_max_count =
		narrower(asked->pids_max_count, granted->pids_max_count, ISO_DEFAULT_PIDS);
	request->nofile_max_count = narrower(asked->nofile_max_count, granted->nofile_max_count,
					     ISO_DEFAULT_NOFILE_HARD);
	request->tmp_size_bytes =
		narrower(asked->tmp_size_bytes, granted->tmp_size_bytes, ISO_DEFAULT_TMP_BYTES);
	request->cpu_max_millis =
		narrower(asked->cpu_max_millis, granted->cpu_max_millis, ISO_UNLIMITED);
	request->fsize_max_bytes =
		narrower(asked->fsize_max_bytes, granted->fsize_max_bytes, ISO_UNLIMITED);
	request->wall_limit_ms = narrower(asked->wall_limit_ms, policy->timeout_ms, ISO_UNLIMITED);
	/* Time that follows the wall limit would lift it. */
	request->grace_ms = narrower(asked->grace_ms, ISO_DEFAULT, ISO_DEFAULT_GRACE_MS);
	request->output_limit_bytes =
		narrower(asked->output_limit_bytes, policy->output_limit_bytes, ISO_UNLIMITED);
}

int iso_narrow(const struct iso_policy *policy, const struct iso_request *granted,
	       const struct iso_asked *asked, uint64_t machine_bytes,
	       struct iso_narrowed *ret_narrowed, struct iso_error *err)
{
	const struct iso_request *wanted = asked->request;
	struct iso_narrowed narrowed = {.request = *granted};
	struct iso_request *request = &narrowed.request;
	if (check_unordered(policy, granted, asked, err) < 0)
		return -1;
	if (join_mounts(granted, asked, &narrowed, err) < 0 ||
	    join_environment(granted, wanted, &narrowed, err) < 0) {
		iso_narrowed_done(&narrowed);
		return -1;
	}
	narrow_limits(policy, granted, wanted, machine_bytes, request);
	narrow_workspace(granted, asked, request);
	if (wanted->seccomp_profile != NULL)
		request->seccomp_profile = wanted->seccomp_profile;
	if (policy->detached_given && wanted->detached == ISO_DETACHED_KILL)
		request->detached = policy->detached;
	*ret_narrowed = narrowed;
	return 0;
}

void iso_narrowed_done(struct iso_narrowed *narrowed)
{
	free(narrowed->mounts);
	iso_strv_done(&narrowed->env);
	*narrowed = (struct iso_narrowed){.mounts = NULL};
}
