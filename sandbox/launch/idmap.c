/* Mappings by key, and clones of mounts that are mapped by them. */
#include "sandbox/launch/idmap.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/slow.h"
#include "sandbox/host_ids.h"

#define TREE_RECURSIVE	    0x8000  /* AT_RECURSIVE */
#define PROPAGATION_PRIVATE 0x40000 /* MS_PRIVATE; <sys/mount.h> clashes with <linux/mount.h> */
#define XFS_MAGIC	    0x58465342

static void print_map(const struct iso_idmap_key *key, uint32_t owner, uint32_t slot,
		      char ret_map[ISO_ID_MAP_SIZE])
{
	if (key->whole)
		iso_id_map_mount(key->first, slot, owner, ret_map);
	else
		snprintf(ret_map, ISO_ID_MAP_SIZE, "%u %u 1\n", owner, key->first + slot);
}

/* Make the namespace of `map`, whose key is set. */
static int make(struct iso_idmap *map, struct iso_error *err)
{
	const struct iso_idmap_key *key = &map->key;
	char uid_map[ISO_ID_MAP_SIZE], gid_map[ISO_ID_MAP_SIZE];
	print_map(key, key->disk_uid, key->slot_uid, uid_map);
	print_map(key, key->disk_gid, key->slot_gid, gid_map);
	return iso_userns_make(uid_map, gid_map, &map->userns, err);
}

static void release(struct iso_idmap *map)
{
	iso_userns_done(&map->userns);
	free(map);
}

void iso_idmap_cache_init(struct iso_idmap_cache *ret_cache, uint32_t trial_id)
{
	*ret_cache = (struct iso_idmap_cache){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.trial_id = trial_id,
	};
}

/* With the lock held. */
static void drop(struct iso_idmap *map)
{
	if (map != NULL && --map->users == 0)
		release(map);
}

/* With the lock held: the mapping of `key` in the cache. */
static int find_or_make(struct iso_idmap_cache *cache, const struct iso_idmap_key *key,
			struct iso_idmap **ret_map, struct iso_error *err)
{
	for (int i = 0; i < ISO_IDMAP_CACHE_SIZE; i++) {
		struct iso_idmap *known = cache->entries[i];
		if (known != NULL && memcmp(&known->key, key, sizeof(*key)) == 0) {
			*ret_map = known;
			return 0;
		}
	}
	struct iso_idmap *map = malloc(sizeof(*map));
	if (map == NULL)
		return iso_error_nomem(err);
	*map = (struct iso_idmap){
		.key = *key,
		.userns = ISO_USERNS_NONE,
		.users = 1,
	};
	if (make(map, err) < 0) {
		release(map);
		return -1;
	}
	struct iso_idmap **place = &cache->entries[cache->count++ % ISO_IDMAP_CACHE_SIZE];
	drop(*place);
	*place = map;
	*ret_map = map;
	return 0;
}

int iso_idmap_get(struct iso_idmap_cache *cache, const struct iso_idmap_key *key,
		  struct iso_idmap **ret_map, struct iso_error *err)
{
	pthread_mutex_lock(&cache->lock);
	int status = find_or_make(cache, key, ret_map, err);
	if (status == 0)
		(*ret_map)->users++;
	pthread_mutex_unlock(&cache->lock);
	return status;
}

void iso_idmap_put(struct iso_idmap_cache *cache, struct iso_idmap *map)
{
	pthread_mutex_lock(&cache->lock);
	drop(map);
	pthread_mutex_unlock(&cache->lock);
}

void iso_idmap_cache_done(struct iso_idmap_cache *cache)
{
	for (int i = 0; i < ISO_IDMAP_CACHE_SIZE; i++)
		drop(cache->entries[i]);
	pthread_mutex_destroy(&cache->lock);
}

int iso_idmap_clone_tree(int path_fd, uint64_t attributes, int userns_fd)
{
	ISO_AUTO_CLOSE int tree = iso_fd_above_stdio(
		(int)syscall(SYS_open_tree, path_fd, "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | TREE_RECURSIVE | AT_EMPTY_PATH));
	if (tree < 0)
		return -1;
	/* Not a peer of the host's mount any more: what is mounted on it in a sandbox would
	 * appear there as well. */
	struct mount_attr attr = {.attr_set = attributes, .propagation = PROPAGATION_PRIVATE};
	if (userns_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns_fd;
	}
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | TREE_RECURSIVE, &attr,
		    sizeof(attr)) < 0)
		return -1;
	return ISO_TAKE_FD(tree);
}

/* Whether it was tried before on this file system, and how that went. */
static bool was_tried(struct iso_idmap_cache *cache, uint64_t dev, bool *ret_can)
{
	bool found = false;
	pthread_mutex_lock(&cache->lock);
	for (unsigned int i = 0; i < cache->tried_count && i < ISO_IDMAP_TRIED_SIZE && !found;
	     i++) {
		found = cache->tried[i].dev == dev;
		*ret_can = cache->tried[i].can_be_mapped;
	}
	pthread_mutex_unlock(&cache->lock);
	return found;
}

static void remember(struct iso_idmap_cache *cache, uint64_t dev, bool can)
{
	pthread_mutex_lock(&cache->lock);
	unsigned int place = cache->tried_count++ % ISO_IDMAP_TRIED_SIZE;
	cache->tried[place].dev = dev;
	cache->tried[place].can_be_mapped = can;
	pthread_mutex_unlock(&cache->lock);
}

static bool try_to_bind(int path_fd, const struct stat *st, struct iso_idmap_cache *cache)
{
	const struct iso_idmap_key key = {
		.disk_uid = st->st_uid,
		.disk_gid = st->st_gid,
		.first = cache->trial_id,
	};
	struct iso_idmap *map;
	if (iso_idmap_get(cache, &key, &map, NULL) < 0)
		return false;
	ISO_AUTO_CLOSE int tree_fd = iso_idmap_clone_tree(path_fd, 0, map->userns.fd);
	iso_idmap_put(cache, map);
	return tree_fd >= 0;
}

bool iso_idmap_can_bind(int path_fd, struct iso_idmap_cache *cache)
{
	struct statfs fs;
	struct stat st;
	bool can;
	/* One that need not answer is not asked: who works through another program has no
	 * idmaps. */
	if (iso_slow_is(path_fd) || fstatfs(path_fd, &fs) < 0 || fstat(path_fd, &st) < 0)
		return false;
	/* These could before our oldest kernel; a launch says so should it be wrong. */
	if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_MAGIC)
		return true;
	if (!was_tried(cache, st.st_dev, &can)) {
		can = try_to_bind(path_fd, &st, cache);
		remember(cache, st.st_dev, can);
	}
	return can;
}
