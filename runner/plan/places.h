/* The places inside that are the sandbox's own, in one table. Pure, thread-safe. */
#ifndef ISORUN_PLAN_PLACES_H
#define ISORUN_PLAN_PLACES_H

#include <stdbool.h>

/* A workspace at `path` (normal) would uncover or replace what the sandbox puts there itself. */
bool iso_place_refuses_workspace(const char *path);

/* A mount of the caller at `path` (normal) would do so. */
bool iso_place_refuses_mount(const char *path);

/* The sandbox's own entry is at `path` whatever a given root has there. */
bool iso_place_replaces_rootfs(const char *path);

#endif
