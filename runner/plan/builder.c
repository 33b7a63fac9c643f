/*
 * The steps from which a file system is planned.
 *
 * Directories on the way to a mount are planned explicitly, and only where they come to lie in a
 * tmpfs of ours: below a bind they must exist, because nothing may be created on the host.
 */
#include "runner/plan/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/plan/defaults.h"

struct iso_fsop *iso_builder_add(struct iso_world_builder *builder, enum iso_fsop_kind kind,
				 const char *target, const char *source)
{
	struct iso_fsop *op = iso_world_add(builder->world, kind, target, source);
	if (op == NULL)
		iso_error_nomem(builder->err);
	return op;
}

int iso_builder_add_dir(struct iso_world_builder *builder, const char *target, mode_t mode)
{
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_DIR, target, NULL);
	if (op == NULL)
		return -1;
	op->mode = mode;
	return 0;
}

int iso_builder_add_link(struct iso_world_builder *builder, const char *target, const char *text)
{
	return iso_builder_add(builder, ISO_FSOP_SYMLINK, target, text) == NULL ? -1 : 0;
}

int iso_builder_add_file(struct iso_world_builder *builder, const char *target, const char *content)
{
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_FILE, target, content);
	if (op == NULL)
		return -1;
	op->mode = 0644;
	return 0;
}

struct iso_fsop *iso_builder_add_tmpfs(struct iso_world_builder *builder, const char *target,
				       uint64_t size, mode_t mode)
{
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_TMPFS, target, NULL);
	if (op != NULL) {
		op->size_bytes = size;
		op->mode = mode;
	}
	return op;
}

static bool is_mount(enum iso_fsop_kind kind)
{
	return kind == ISO_FSOP_BIND || kind == ISO_FSOP_TMPFS || kind == ISO_FSOP_PROC;
}

/* The mount that `path` comes to lie in, or NULL for the root tmpfs: the last one above it. */
static const struct iso_fsop *covering_mount(const struct iso_world *world, const char *path)
{
	for (size_t i = world->fsop_count; i > 0; i--) {
		const struct iso_fsop *op = &world->fsops[i - 1];
		if (is_mount(op->kind) && iso_path_is_beneath(path, op->target))
			return op;
	}
	return NULL;
}

/* Whether an operation since the mount that covers it has made `path`. */
bool iso_builder_is_planned(const struct iso_world *world, const char *path)
{
	for (size_t i = world->fsop_count; i > 0; i--) {
		const struct iso_fsop *op = &world->fsops[i - 1];
		if (strcmp(op->target, path) == 0)
			return true;
		if (is_mount(op->kind) && iso_path_is_beneath(path, op->target))
			return false;
	}
	return false;
}

/* Plan the directories above `target`, and, with `itself`, that as a directory, too. */
int iso_builder_add_way(struct iso_world_builder *builder, const char *target, bool itself)
{
	ISO_AUTO_FREE char *path = strdup(target);
	if (path == NULL)
		return iso_error_nomem(builder->err);
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash == NULL && !itself)
			return 0;
		if (slash != NULL)
			*slash = '\0';
		const struct iso_fsop *mount = covering_mount(builder->world, path);
		bool ours = mount == NULL || mount->kind == ISO_FSOP_TMPFS;
		if (ours && !iso_builder_is_planned(builder->world, path) &&
		    iso_builder_add_dir(builder, path, 0755) < 0)
			return -1;
		if (slash == NULL)
			return 0;
		*slash = '/';
	}
}

/* Plan something to mount over at `target`, of the kind of the source. */
int iso_builder_add_mount_point(struct iso_world_builder *builder, const char *target,
				bool directory)
{
	if (iso_builder_add_way(builder, target, directory) < 0)
		return -1;
	const struct iso_fsop *mount = covering_mount(builder->world, target);
	bool ours = mount == NULL || mount->kind == ISO_FSOP_TMPFS;
	if (directory || !ours || iso_builder_is_planned(builder->world, target))
		return 0;
	return iso_builder_add_file(builder, target, NULL);
}

/* A host directory, file or link at `path` appears as itself, read-only; nothing there: nothing. */
int iso_builder_add_host_entry(struct iso_world_builder *builder, int dir_fd, const char *name,
			       const char *path, const char *source)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
						       "look at \"%s\"", source);
	if (S_ISLNK(st.st_mode)) {
		char text[PATH_MAX];
		ssize_t length = readlinkat(dir_fd, name, text, sizeof(text) - 1);
		if (length < 0)
			return iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
					     "read link \"%s\"", source);
		text[length] = '\0';
		return iso_builder_add_link(builder, path, text);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0; /* a socket, FIFO or device of the host is nothing for a payload */
	if (iso_builder_add_mount_point(builder, path, S_ISDIR(st.st_mode)) < 0)
		return -1;
	struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_BIND, path, source);
	if (op == NULL)
		return -1;
	op->optional = true; /* gone since: as if it had never been */
	op->source_dev = st.st_dev;
	op->source_ino = st.st_ino;
	return 0;
}

/* True when the workspace or a mount of the caller lies at or below `path`. */
bool iso_builder_is_used_by_caller(const struct iso_world_builder *builder, const char *path)
{
	if (iso_path_is_beneath(iso_survey_workspace(builder->survey)->path, path))
		return true;
	for (size_t i = 0; i < builder->request->mount_count; i++) {
		const struct iso_mount *mount = &builder->request->mounts[i];
		const char *target = mount->target != NULL ? mount->target : mount->source;
		if (target != NULL && iso_path_is_beneath(target, path))
			return true;
	}
	return false;
}

uint64_t iso_builder_tmp_size(const struct iso_request *request)
{
	return request->tmp_size_bytes == ISO_DEFAULT ? ISO_DEFAULT_TMP_BYTES
						      : request->tmp_size_bytes;
}
