/*
 * Appending file system operations to a plan: shared by the files that plan the payload's world.
 * All functions return 0 or a pointer, or -1 or NULL with the builder's error filled.
 */
#ifndef ISORUN_PLAN_BUILDER_H
#define ISORUN_PLAN_BUILDER_H

#include "runner/plan/build.h"

struct iso_world_builder {
	const struct iso_request *request; /* borrowed */
	const struct iso_survey *survey;   /* borrowed */
	struct iso_world *world;	   /* borrowed */
	struct iso_error *err;		   /* borrowed */
};

struct iso_fsop *iso_builder_add(struct iso_world_builder *builder, enum iso_fsop_kind kind,
				 const char *target, const char *source);
int iso_builder_add_dir(struct iso_world_builder *builder, const char *target, mode_t mode);
int iso_builder_add_link(struct iso_world_builder *builder, const char *target, const char *text);
int iso_builder_add_file(struct iso_world_builder *builder, const char *target,
			 const char *content);
struct iso_fsop *iso_builder_add_tmpfs(struct iso_world_builder *builder, const char *target,
				       uint64_t size, mode_t mode);

/* Whether an operation since the mount that covers it has made `path`. */
bool iso_builder_is_planned(const struct iso_world *world, const char *path);

/* Plan the directories above `target`, and, with `itself`, that as a directory, too. */
int iso_builder_add_way(struct iso_world_builder *builder, const char *target, bool itself);

/* Plan something to mount over at `target`: a directory or a file. */
int iso_builder_add_mount_point(struct iso_world_builder *builder, const char *target,
				bool directory);

/* The directory, file or link `name` in `dir_fd` (`source` on the host) appears at `path`,
 * read-only; where there is nothing, nothing is planned. */
int iso_builder_add_host_entry(struct iso_world_builder *builder, int dir_fd, const char *name,
			       const char *path, const char *source);

/* True when the workspace or a mount of the caller lies at or below `path`. */
bool iso_builder_is_used_by_caller(const struct iso_world_builder *builder, const char *path);

/* The size of /tmp and of a caller's tmpfs without one. */
uint64_t iso_builder_tmp_size(const struct iso_request *request);

/* Plan the request's own mounts (runner/plan/mounts.c). */
int iso_builder_add_caller_mounts(struct iso_world_builder *builder);

#endif
