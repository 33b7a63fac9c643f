/*
 * A mapping is carried by a user namespace, and a user namespace is made by a process that enters
 * it. That process shares our memory (copying the address space would cost more than all the rest),
 * only waits, and is killed as soon as its namespace has a descriptor; should we die first, it sees
 * that through a pidfd and ends.
 */
#include "sandbox/launch/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
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
#include "sandbox/child/rawcall.h"
#include "sandbox/host.h"

#define TREE_RECURSIVE	    0x8000  /* AT_RECURSIVE */
#define PROPAGATION_PRIVATE 0x40000 /* MS_PRIVATE; <sys/mount.h> clashes with <linux/mount.h> */
#define STACK_SIZE	    8192
#define XFS_MAGIC	    0x58465342

/* The namespace's first process: raw calls only, see sandbox/child/child.c. */
static void __attribute__((noreturn)) wait_for_parent(const void *argument)
{
	struct pollfd parent = {.fd = 0, .events = POLLIN};
	/* Should it live longer than meant, it must not keep the ends of any pipe open. */
	if (iso_raw3(SYS_dup3, (long)(intptr_t)argument, 0, 0) == 0 &&
	    iso_raw3(SYS_close_range, 1, ~0U, 0) == 0)
		(void)iso_raw3(SYS_poll, ISO_ARG(&parent), 1, -1);
	for (;;)
		(void)iso_raw1(SYS_exit_group, 0);
}

static int write_map(pid_t pid, const char *file, uint32_t inner, uint32_t outer)
{
	char path[64], text[48];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	snprintf(text, sizeof(text), "%u %u 1", inner, outer);
	return iso_fd_write_control(AT_FDCWD, path, text);
}

static int map_and_open(pid_t pid, const struct iso_idmap *map)
{
	if (write_map(pid, "uid_map", map->key.disk_uid, map->key.host_uid) < 0 ||
	    write_map(pid, "gid_map", map->key.disk_gid, map->key.host_gid) < 0)
		return -1;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return iso_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC));
}

/* Make the namespace of `map`, whose ids are set. The process that made it is killed and not waited
 * for: its end need not delay the run. */
static int make(struct iso_idmap *map, struct iso_error *err)
{
	map->stack = aligned_alloc(16, STACK_SIZE);
	if (map->stack == NULL)
		return iso_error_nomem(err);
	ISO_AUTO_CLOSE int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	/* It takes what it polls by value in the pointer: `self` does not outlive this call. */
	const struct iso_spawn spawn = {
		.flags = CLONE_NEWUSER,
		.cgroup_fd = -1,
		.stack = map->stack,
		.stack_size = STACK_SIZE,
		.entry = wait_for_parent,
		.argument = (const void *)(intptr_t)self,
	};
	int failed = self < 0 ? -errno : iso_spawn(&spawn, &map->holder);
	if (failed < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, -failed,
				     "create a user namespace for id-mapping");
	map->userns_fd = map_and_open(map->holder.pid, map);
	int saved_errno = errno;
	iso_process_signal(&map->holder, SIGKILL);
	if (map->userns_fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, saved_errno,
				     "map uid %u to %u for id-mapping", map->key.disk_uid,
				     map->key.host_uid);
	return 0;
}

static void release(struct iso_idmap *map)
{
	if (map->holder.pidfd >= 0 && !iso_process_abandon(&map->holder))
		map->stack = NULL; /* it still stands on that, and ends when we do */
	iso_process_close(&map->holder);
	iso_fd_close(map->userns_fd);
	free(map->stack);
	free(map);
}

void iso_idmap_cache_init(struct iso_idmap_cache *ret_cache)
{
	*ret_cache = (struct iso_idmap_cache){.lock = PTHREAD_MUTEX_INITIALIZER};
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
		.userns_fd = -1,
		.holder = {.pidfd = -1},
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
	const struct iso_idmap_key key = {st->st_uid, st->st_gid, ISO_NOBODYS_ID, ISO_NOBODYS_ID};
	struct iso_idmap *map;
	if (iso_idmap_get(cache, &key, &map, NULL) < 0)
		return false;
	ISO_AUTO_CLOSE int tree_fd = iso_idmap_clone_tree(path_fd, 0, map->userns_fd);
	iso_idmap_put(cache, map);
	return tree_fd >= 0;
}

bool iso_idmap_can_bind(int path_fd, struct iso_idmap_cache *cache)
{
	struct statfs fs;
	struct stat st;
	bool can;
	if (fstatfs(path_fd, &fs) < 0 || fstat(path_fd, &st) < 0)
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
