/* Construction and printing of worlds. Printing is complete: what is built is what is shown. */
#include "sandbox/world.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
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

void iso_world_done(struct iso_world *world)
{
	iso_strv_done(&world->protected_paths);
	iso_seccomp_custom_done(&world->seccomp);
	free(world->workspace);
	free(world->hostname);
	for (size_t i = 0; i < world->fsop_count; i++) {
		free(world->fsops[i].target);
		free(world->fsops[i].source);
	}
	free(world->fsops);
	*world = (struct iso_world){0};
}

struct iso_fsop *iso_world_add(struct iso_world *world, enum iso_fsop_kind kind, const char *target,
			       const char *source)
{
	if (!iso_array_grow(&world->fsops, world->fsop_count, sizeof(*world->fsops)))
		return NULL;
	ISO_AUTO_FREE char *target_copy = strdup(target);
	ISO_AUTO_FREE char *source_copy = source != NULL ? strdup(source) : NULL;
	if (target_copy == NULL || (source != NULL && source_copy == NULL))
		return NULL;
	struct iso_fsop *op = &world->fsops[world->fsop_count++];
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

static void print_fsop(struct iso_json *json, cJSON *list, const struct iso_fsop *op)
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

static void print_identity(const struct iso_identity *identity, struct iso_json *json,
			   cJSON *object)
{
	iso_json_add_text(json, object, "kind", identity_names[identity->kind]);
	iso_json_add_u64(json, object, "uid", identity->inner_uid);
	iso_json_add_u64(json, object, "gid", identity->inner_gid);
	if (identity->kind == ISO_IDENTITY_MAPPED)
		return; /* a fresh block for every run */
	iso_json_add_u64(json, object, "host_uid", identity->host_uid);
	iso_json_add_u64(json, object, "host_gid", identity->host_gid);
}

static void print_filters(const struct iso_world *world, struct iso_json *json, cJSON *object)
{
	bool custom = world->seccomp.count > 0;
	iso_capabilities_add(json, object, "capabilities", world->capabilities);
	iso_json_add_text(json, object, "seccomp", custom ? "default and custom" : "default");
	if (custom)
		iso_json_add_text(json, object, "seccomp_profile_sha256",
				  world->seccomp.profile_sha256);
	if (world->landlock_abi > 0)
		iso_json_add_u64(json, object, "landlock_abi", world->landlock_abi);
	else
		iso_json_add_null(json, object, "landlock_abi");
}

void iso_world_print(const struct iso_world *world, struct iso_json *json, cJSON *object)
{
	cJSON *workspace = iso_json_add_object(json, object, "workspace");
	iso_json_add_text(json, workspace, "path", world->workspace);
	iso_json_add_text(json, workspace, "mode", world->workspace_read_only ? "ro" : "rw");
	iso_json_add_text(json, object, "hostname", world->hostname);
	print_identity(&world->identity, json, iso_json_add_object(json, object, "identity"));
	iso_json_add_text(json, object, "network", "loopback");
	cJSON *limits = iso_json_add_object(json, object, "limits");
	iso_json_add_limit(json, limits, "memory_bytes", world->limits.memory_max_bytes);
	iso_json_add_limit(json, limits, "pids", world->limits.pids_max_count);
	iso_json_add_limit(json, limits, "cpu_millis", world->limits.cpu_max_millis);
	iso_json_add_text(json, object, "cgroup", world->cgroup_optional ? "optional" : "required");
	print_filters(world, json, object);
	cJSON *list = iso_json_add_array(json, object, "filesystem");
	for (size_t i = 0; i < world->fsop_count; i++)
		print_fsop(json, list, &world->fsops[i]);
}
