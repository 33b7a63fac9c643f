/*
 * Id-mapped mounts: the owner of a directory appears as the payload, so that files keep their owner
 * on disk while the payload has a host id that owns nothing.
 * Source: mount_setattr(2), Documentation/filesystems/idmappings.rst.
 */
#ifndef ISORUN_SANDBOX_IDMAP_H
#define ISORUN_SANDBOX_IDMAP_H

#include <stdint.h>

#include "runner/isorun.h"

/*
 * A user namespace in which `disk_uid` and `disk_gid` stand for `host_uid` and `host_gid`.
 *
 * ret_fd  owned by the caller
 *
 * Needs CAP_SETUID and CAP_SETGID. Errors: ISO_ERR_SYSTEM.
 */
int iso_idmap_open(uint32_t disk_uid, uint32_t disk_gid, uint32_t host_uid, uint32_t host_gid,
		   int *ret_fd, struct iso_error *err);

/* A detached recursive clone of the object at `path_fd`, with `attributes` (MOUNT_ATTR_*), mapped
 * by the user namespace `userns_fd` (-1: unmapped). Returns the mount's descriptor, or -1 with
 * errno; EINVAL says that a file system there cannot be id-mapped. */
int iso_idmap_clone_tree(int path_fd, uint64_t attributes, int userns_fd);

#endif
