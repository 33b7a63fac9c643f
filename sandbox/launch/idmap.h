/*
 * Id-mapped mounts: the owner of a directory appears as the payload, so that files keep their owner
 * on disk while the payload has a host id that owns nothing.
 * Source: mount_setattr(2), Documentation/filesystems/idmappings.rst.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_IDMAP_H
#define ISORUN_SANDBOX_LAUNCH_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"

/* User namespaces that carry mappings, kept for the next run. One owner, not thread-safe. */
#define ISO_IDMAP_CACHE_SIZE 4

struct iso_idmap {
	uint32_t disk_uid, disk_gid, host_uid, host_gid;
	int userns_fd;	  /* owned */
	int holder_pidfd; /* owned; the killed process that made it, until it is reaped; or -1 */
	char *stack;	  /* owned; that process's, until it is reaped */
	bool holder_killed;
};

struct iso_idmap_cache {
	struct iso_idmap entries[ISO_IDMAP_CACHE_SIZE];
	unsigned int count; /* all that were ever made; the oldest is replaced */
};

/*
 * A user namespace in which `disk_uid` and `disk_gid` stand for `host_uid` and `host_gid`.
 *
 * ret_fd  borrowed from the cache until the next call
 *
 * Needs CAP_SETUID and CAP_SETGID. Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_idmap_get(struct iso_idmap_cache *cache, uint32_t disk_uid, uint32_t disk_gid,
		  uint32_t host_uid, uint32_t host_gid, int *ret_fd, struct iso_error *err);

/* Release everything; a zeroed cache is fine. */
void iso_idmap_cache_done(struct iso_idmap_cache *cache);

/* Whether the directory at `path_fd` can be bound with its owner mapped. Needs privileges. */
bool iso_idmap_can_bind(int path_fd, struct iso_idmap_cache *cache);

/* A detached recursive clone of the object at `path_fd`, with `attributes` (MOUNT_ATTR_*), mapped
 * by the user namespace `userns_fd` (-1: unmapped). Returns the mount's descriptor, or -1 with
 * errno; EINVAL says that a file system there cannot be id-mapped. */
int iso_idmap_clone_tree(int path_fd, uint64_t attributes, int userns_fd);

#endif
