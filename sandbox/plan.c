/* Construction and printing of plans. Printing is complete: what is executed is what is shown. */
#include "sandbox/plan.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/text/json.h"
#include "sandbox/filter/capabilities.h"

static const char *const fsop_names[] = {
	[ISO_FSOP_UNSET] = "unset",	   [ISO_FSOP_DIR] = "directory",
	[ISO_FSOP_SYMLINK] = "symlink",	   [ISO_FSOP_FILE] = "file",
	[ISO_FSOP_DEVICE] = "device",	   [ISO_FSOP_TMPFS] = "tmpfs",
	[ISO_FSOP_PROC] = "proc",	   [ISO_FSOP_DEVPTS] = "devpts",
	[ISO_FSOP_BIND] = "bind",	   [ISO_FSOP_MASK] = "mask",
	[ISO_FSOP_COVER] = "cover",	   [ISO_FSOP_PROTECT] = "protect",
	[ISO_FSOP_READONLY] = "read-only",
};

static const char *const identity_names[] = {
	[ISO_IDENTITY_UNSET] = "unset",
	[ISO_IDENTITY_MAPPED] = "mapped",
	[ISO_IDENTITY_OWNER] = "workspace-owner",
	[ISO_IDENTITY_CALLER] = "caller",
};

const char *iso_fsop_name(enum iso_fsop_kind kind)
{
	return fsop_names[kind];
}

const char *iso_identity_name(enum iso_identity_kind kind)
{
	return identity_names[kind];
}

void iso_plan_done(struct iso_plan *plan)
{
	iso_strv_done(&plan->argv);
	iso_strv_done(&plan->env);
	iso_strv_done(&plan->protected_paths);
	free(plan->workspace);
	free(plan->workdir);
	free(plan->hostname);
	for (size_t i = 0; i < plan->fsop_count; i++) {
		free(plan->fsops[i].target);
		free(plan->fsops[i].source);
	}
	free(plan->fsops);
	*plan = (struct iso_plan){0};
}

struct iso_fsop *iso_plan_add(struct iso_plan *plan, enum iso_fsop_kind kind, const char *target,
			      const char *source)
{
	if (!iso_array_grow(&plan->fsops, plan->fsop_count, sizeof(*plan->fsops)))
		return NULL;
	ISO_AUTO_FREE char *target_copy = strdup(target);
	ISO_AUTO_FREE char *source_copy = source != NULL ? strdup(source) : NULL;
	if (target_copy == NULL || (source != NULL && source_copy == NULL))
		return NULL;
	struct iso_fsop *op = &plan->fsops[plan->fsop_count++];
	*op = (struct iso_fsop){
		.kind = kind,
		.target = ISO_TAKE_PTR(target_copy),
		.source = ISO_TAKE_PTR(source_copy),
	};
	return op;
}

static void add_flag(struct iso_json *json, cJSON *object, const char *name, bool value)
{
	if (value)
		iso_json_add_bool(json, object, name, true);
}

static void add_fsop(struct iso_json *json, cJSON *list, const struct iso_fsop *op)
{
	cJSON *object = iso_json_append_object(json, list);
	iso_json_add_text(json, object, "op", fsop_names[op->kind]);
	iso_json_add_text(json, object, "target", op->target);
	if (op->source != NULL)
		iso_json_add_text(json, object, "source", op->source);
	if (op->mode != 0)
		iso_json_add_u64(json, object, "mode", op->mode);
	if (op->size_bytes != 0)
		iso_json_add_u64(json, object, "size_bytes", op->size_bytes);
	add_flag(json, object, "writable", op->writable);
	add_flag(json, object, "device_files", op->device_files);
	add_flag(json, object, "executable", op->executable);
	add_flag(json, object, "optional", op->optional);
	add_flag(json, object, "payload_owned", op->payload_owned);
	add_flag(json, object, "owner_mapped", op->owner_mapped);
}

static void add_limit(struct iso_json *json, cJSON *object, const char *name, uint64_t value)
{
	if (value == ISO_UNLIMITED)
		iso_json_add_null(json, object, name);
	else
		iso_json_add_u64(json, object, name, value);
}

int iso_plan_print(const struct iso_plan *plan, char **ret_json, struct iso_error *err)
{
	struct iso_json json;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "schema", "isorun.plan/1");
	iso_json_add_strv(&json, root, "argv", plan->argv.items);
	iso_json_add_strv(&json, root, "environment", plan->env.items);
	iso_json_add_text(&json, root, "workdir", plan->workdir);
	iso_json_add_text(&json, root, "hostname", plan->hostname);

	cJSON *workspace = iso_json_add_object(&json, root, "workspace");
	iso_json_add_text(&json, workspace, "path", plan->workspace);
	iso_json_add_text(&json, workspace, "mode", plan->workspace_read_only ? "ro" : "rw");

	cJSON *identity = iso_json_add_object(&json, root, "identity");
	iso_json_add_text(&json, identity, "kind", identity_names[plan->identity.kind]);
	iso_json_add_u64(&json, identity, "uid", plan->identity.inner_uid);
	iso_json_add_u64(&json, identity, "gid", plan->identity.inner_gid);
	iso_json_add_u64(&json, identity, "host_uid", plan->identity.host_uid);
	iso_json_add_u64(&json, identity, "host_gid", plan->identity.host_gid);

	cJSON *limits = iso_json_add_object(&json, root, "limits");
	add_limit(&json, limits, "memory_bytes", plan->limits.memory_max_bytes);
	add_limit(&json, limits, "pids", plan->limits.pids_max_count);
	add_limit(&json, limits, "cpu_millis", plan->limits.cpu_max_millis);
	add_limit(&json, limits, "wall_ms", plan->limits.wall_limit_ms);
	add_limit(&json, limits, "grace_ms", plan->limits.grace_ms);
	add_limit(&json, limits, "nofile_soft", plan->limits.nofile_soft_count);
	add_limit(&json, limits, "nofile_hard", plan->limits.nofile_hard_count);
	add_limit(&json, limits, "fsize_bytes", plan->limits.fsize_max_bytes);

	iso_json_add_text(&json, root, "detached",
			  plan->detached == ISO_DETACHED_WAIT ? "wait" : "kill");
	iso_json_add_text(&json, root, "cgroup", plan->cgroup_optional ? "optional" : "required");
	iso_capabilities_add(&json, root, "capabilities", plan->capabilities);
	iso_json_add_text(&json, root, "seccomp",
			  plan->seccomp == NULL ? "default" : "default and custom");
	if (plan->seccomp != NULL)
		iso_json_add_text(&json, root, "seccomp_profile_sha256",
				  plan->seccomp->profile_sha256);
	if (plan->landlock_abi > 0)
		iso_json_add_u64(&json, root, "landlock_abi", plan->landlock_abi);
	else
		iso_json_add_null(&json, root, "landlock_abi");
	iso_json_add_bool(&json, root, "tty", plan->tty);

	cJSON *list = iso_json_add_array(&json, root, "filesystem");
	for (size_t i = 0; i < plan->fsop_count; i++)
		add_fsop(&json, list, &plan->fsops[i]);
	return iso_json_end(&json, root, ret_json, err);
}
