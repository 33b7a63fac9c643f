/*
 * Id-mapped mounts: the owner of a directory appears as the payload, so that files keep their owner
 * on disk while the payload has a host id that owns nothing.
 * Source: mount_setattr(2), Documentation/filesystems/idmappings.rst.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_IDMAP_H
#define ISORUN_SANDBOX_LAUNCH_IDMAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"
#include "sandbox/launch/userns.h"

/* Whose files appear as whose: owners on disk as ids of a block of the host's. Without padding. */
struct iso_idmap_key {
	uint32_t disk_uid, disk_gid;
	uint32_t first;		     /* of the block */
	uint32_t slot_uid, slot_gid; /* the owner's places in it */
	uint32_t whole;		     /* 1: other owners have places as well, 0: they are nobody */
};

/* A user namespace that carries a mapping. */
struct iso_idmap {
	struct iso_idmap_key key;
	struct iso_userns userns; /* owned */
	unsigned int users;	  /* the cache is one */
};

#define ISO_IDMAP_CACHE_SIZE 16
#define ISO_IDMAP_TRIED_SIZE 16

/* Mappings kept for the next run, and which file systems can be mapped. Thread-safe but for init
 * and done. */
struct iso_idmap_cache {
	pthread_mutex_t lock;				 /* of all that follows, `users` included */
	struct iso_idmap *entries[ISO_IDMAP_CACHE_SIZE]; /* owned */
	unsigned int count; /* all that were ever made; the oldest is replaced */
	struct {
		uint64_t dev;
		bool can_be_mapped;
	} tried[ISO_IDMAP_TRIED_SIZE];
	unsigned int tried_count; /* likewise */
	uint32_t trial_id;	  /* what owners are mapped to for that */
};

/* trial_id  a host id that owns nothing */
void iso_idmap_cache_init(struct iso_idmap_cache *ret_cache, uint32_t trial_id);

/*
 * The mapping for `key`, made where it is missing. It lasts until iso_idmap_put, whatever the cache
 * does meanwhile.
 *
 * Needs CAP_SETUID and CAP_SETGID. Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_idmap_get(struct iso_idmap_cache *cache, const struct iso_idmap_key *key,
		  struct iso_idmap **ret_map, struct iso_error *err);
void iso_idmap_put(struct iso_idmap_cache *cache, struct iso_idmap *map);

/* Release everything; nobody uses a mapping any more. */
void iso_idmap_cache_done(struct iso_idmap_cache *cache);

/* Whether the directory at `path_fd` can be bound with its owner mapped. Needs privileges. A file
 * system is tried once, unless it is known to be able to. */
bool iso_idmap_can_bind(int path_fd, struct iso_idmap_cache *cache);

/* A detached recursive clone of the object at `path_fd`, with `attributes` (MOUNT_ATTR_*), mapped
 * by the user namespace `userns_fd` (-1: unmapped). Returns the mount's descriptor, or -1 with
 * errno; EINVAL says that a file system there cannot be id-mapped. */
int iso_idmap_clone_tree(int path_fd, uint64_t attributes, int userns_fd);

#endif
