/* The mounts that the caller asked for: every source is opened once and its identity noted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/plan/builder.h"
#include "runner/plan/places.h"

/* `named`, normalised, for the caller to free; or NULL with the error filled. `what` completes
 * "… \"path\"". */
static char *normalise(struct iso_world_builder *builder, const char *what, const char *named)
{
	char *normal = iso_path_normalise(named);
	if (normal == NULL && errno == ENOMEM)
		iso_error_nomem(builder->err);
	else if (normal == NULL)
		iso_error_set(builder->err, ISO_ERR_INVALID, 0,
			      "%s \"%s\": an absolute path without \"..\" is needed", what, named);
	return normal;
}

static int check_target(struct iso_world_builder *builder, const char *target)
{
	if (iso_place_refuses_mount(target))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "mount at \"%s\": the sandbox needs that place itself",
				     target);
	return 0;
}

static int add_caller_bind(struct iso_world_builder *builder, const struct iso_mount *mount)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path source = {.fd = -1};
	if (iso_writable_open_beside(&builder->survey->writable, mount->source, "the mount source",
				     &source, builder->err) < 0)
		return -1;
	ISO_AUTO_FREE char *target =
		normalise(builder, "mount at", mount->target != NULL ? mount->target : source.path);
	if (target == NULL || check_target(builder, target) < 0)
		return -1;
	if (!S_ISDIR(source.mode) && !S_ISREG(source.mode) && !S_ISSOCK(source.mode))
		return iso_error_set(
			builder->err, ISO_ERR_INVALID, 0,
			"mount \"%s\": only directories, files and sockets can be bound",
			source.path);
	if (iso_builder_add_mount_point(builder, target, S_ISDIR(source.mode)) < 0)
		return -1;
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_BIND, target, source.path);
	if (op == NULL)
		return -1;
	op->writable = mount->kind == ISO_MOUNT_RW;
	op->owner_mapped = builder->world->identity.kind == ISO_IDENTITY_MAPPED;
	op->by_caller = true;
	op->source_dev = source.dev;
	op->source_ino = source.ino;
	return 0;
}

static int add_caller_tmpfs(struct iso_world_builder *builder, const struct iso_mount *mount)
{
	ISO_AUTO_FREE char *target = normalise(builder, "mount at", mount->target);
	if (target == NULL || check_target(builder, target) < 0)
		return -1;
	if (iso_path_is_beneath(builder->world->workspace, target))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "mount a tmpfs at \"%s\": it would cover the workspace",
				     target);
	if (iso_builder_add_mount_point(builder, target, true) < 0)
		return -1;
	uint64_t size =
		mount->size_bytes != 0 ? mount->size_bytes : iso_builder_tmp_size(builder->request);
	struct iso_fsop *op = iso_builder_add_tmpfs(builder, target, size, 0755);
	if (op == NULL)
		return -1;
	op->executable = true;
	op->payload_owned = true;
	return 0;
}

static int add_caller_mask(struct iso_world_builder *builder, const struct iso_mount *mount)
{
	ISO_AUTO_FREE char *target = normalise(builder, "hide", mount->target);
	if (target == NULL)
		return -1;
	if (strcmp(target, "/") == 0)
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "hide \"/\": a path below it is needed");
	if (iso_path_is_beneath(builder->world->workspace, target))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "hide \"%s\": it would hide the workspace", target);
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_MASK, target, NULL);
	return op == NULL ? -1 : 0;
}

/* A path of the workspace, relative to it or absolute, that the payload may not change. */
static int add_caller_protection(struct iso_world_builder *builder, const struct iso_mount *mount)
{
	const char *workspace = builder->world->workspace;
	ISO_AUTO_FREE char *joined = mount->target[0] == '/'
					     ? strdup(mount->target)
					     : iso_strf("%s/%s", workspace, mount->target);
	ISO_AUTO_FREE char *target = joined != NULL ? iso_path_normalise(joined) : NULL;
	if (joined == NULL || (target == NULL && errno == ENOMEM))
		return iso_error_nomem(builder->err);
	if (target == NULL || !iso_path_is_beneath(target, workspace) ||
	    strcmp(target, workspace) == 0)
		return iso_error_set(
			builder->err, ISO_ERR_INVALID, 0,
			"protect \"%s\": a path in the workspace without \"..\" is needed",
			mount->target);
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_PROTECT, target, NULL);
	if (op == NULL)
		return -1;
	op->optional = true;
	if (iso_strv_add(&builder->world->protected_paths, target + strlen(workspace) + 1) < 0)
		return iso_error_nomem(builder->err);
	return 0;
}

int iso_builder_add_caller_mounts(struct iso_world_builder *builder)
{
	for (size_t i = 0; i < builder->request->mount_count; i++) {
		const struct iso_mount *mount = &builder->request->mounts[i];
		int result = -1;
		switch (mount->kind) {
		case ISO_MOUNT_RO:
		case ISO_MOUNT_RW:
			result = add_caller_bind(builder, mount);
			break;
		case ISO_MOUNT_TMPFS:
			result = add_caller_tmpfs(builder, mount);
			break;
		case ISO_MOUNT_HIDE:
			result = add_caller_mask(builder, mount);
			break;
		case ISO_MOUNT_PROTECT:
			result = add_caller_protection(builder, mount);
			break;
		case ISO_MOUNT_UNSET:
			iso_error_set(builder->err, ISO_ERR_INVALID, 0, "mount %zu: no kind", i);
			break;
		}
		if (result < 0)
			return -1;
	}
	return 0;
}
