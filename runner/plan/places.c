/* A row a place; /dev/shm is the one hole: it is the payload's to use. */
#include "runner/plan/places.h"

#include <string.h>

#include "runner/base/array.h"
#include "runner/base/file/path.h"

enum {
	HOLDS_OUR_MOUNTS = 1 << 0,     /* no workspace at it or above it */
	CLOSED_TO_WORKSPACES = 1 << 1, /* nor below it */
	CLOSED_TO_MOUNTS = 1 << 2,     /* no mount of the caller at it or below it */
	REPLACES_ROOTFS = 1 << 3,
};

static const struct {
	const char *path;
	int what;
} places[] = {
	{"/usr", HOLDS_OUR_MOUNTS},
	{"/bin", HOLDS_OUR_MOUNTS},
	{"/sbin", HOLDS_OUR_MOUNTS},
	{"/lib", HOLDS_OUR_MOUNTS},
	{"/etc", HOLDS_OUR_MOUNTS},
	{"/proc", HOLDS_OUR_MOUNTS | CLOSED_TO_WORKSPACES | CLOSED_TO_MOUNTS | REPLACES_ROOTFS},
	{"/dev", HOLDS_OUR_MOUNTS | CLOSED_TO_WORKSPACES | CLOSED_TO_MOUNTS | REPLACES_ROOTFS},
	{"/sys", HOLDS_OUR_MOUNTS | CLOSED_TO_WORKSPACES | REPLACES_ROOTFS},
	{"/tmp", HOLDS_OUR_MOUNTS | REPLACES_ROOTFS},
	{"/run", HOLDS_OUR_MOUNTS | REPLACES_ROOTFS},
};

/* Whether `path` is, or lies in, a place that is `closed`. */
static bool is_in(const char *path, int closed)
{
	if (iso_path_is_beneath(path, "/dev/shm"))
		return false;
	for (size_t i = 0; i < ISO_COUNT(places); i++) {
		if ((places[i].what & closed) != 0 && iso_path_is_beneath(path, places[i].path))
			return true;
	}
	return false;
}

bool iso_place_refuses_workspace(const char *path)
{
	for (size_t i = 0; i < ISO_COUNT(places); i++) {
		if ((places[i].what & HOLDS_OUR_MOUNTS) != 0 &&
		    iso_path_is_beneath(places[i].path, path))
			return true;
	}
	return is_in(path, CLOSED_TO_WORKSPACES);
}

bool iso_place_refuses_mount(const char *path)
{
	return strcmp(path, "/") == 0 || is_in(path, CLOSED_TO_MOUNTS);
}

bool iso_place_replaces_rootfs(const char *path)
{
	for (size_t i = 0; i < ISO_COUNT(places); i++) {
		if ((places[i].what & REPLACES_ROOTFS) != 0 && strcmp(places[i].path, path) == 0)
			return true;
	}
	return false;
}
