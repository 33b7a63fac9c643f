/*
 * Which block, by chance and by lock. The lock is the kernel's own record of who is alive: it
 * belongs to an open file, which the init of a run holds as well, so that it lasts as long as the
 * longer lived of the two. An init closes its files a moment before the last of its processes is
 * gone: whoever comes then sees that a process has the id, and takes another block.
 */
#include "sandbox/host_ids.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/parse.h"

/* 0x70000000 up to 0x7ffdffff: behind what distributions, systemd and shadow hand out, and below
 * 2^31, where not every file system follows. */
#define DEFAULT_FIRST 0x70000000u
#define DEFAULT_COUNT 4094u
#define ID_END	      (UINT32_C(1) << 31)
#define FILE_MAX      ((size_t)4 << 20)

static int refuse(const char *path, const char *rule, struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0, "read the host ids \"%s\": %s", path, rule);
}

/* "FIRST:COUNT", alone on its line; blank lines and those with a # first are passed over. */
static int parse_range(const char *path, char *text, struct iso_id_range *ret_range,
		       struct iso_error *err)
{
	static const char rule[] = "one line FIRST:COUNT is needed, of at least 65536 ids from "
				   "65536 up to 2147483647";
	bool found = false;
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t first, count;
		if (line[0] == '#' || line[strspn(line, " \t\r")] == '\0')
			continue;
		char *colon = strchr(line, ':');
		if (found || colon == NULL)
			return refuse(path, rule, err);
		*colon = '\0';
		if (iso_parse_u64_range(line, ISO_ID_BLOCK, ID_END - ISO_ID_BLOCK, &first) < 0 ||
		    iso_parse_u64_range(colon + 1, ISO_ID_BLOCK, ID_END - first, &count) < 0)
			return refuse(path, rule, err);
		*ret_range = (struct iso_id_range){
			.first = (uint32_t)first,
			.block_count = (uint32_t)(count / ISO_ID_BLOCK),
		};
		found = true;
	}
	return found ? 0 : refuse(path, rule, err);
}

int iso_id_range_read(const char *path, struct iso_id_range *ret_range, struct iso_error *err)
{
	struct stat st;
	ISO_AUTO_FREE char *text = NULL;
	size_t size;
	ISO_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		*ret_range = (struct iso_id_range){DEFAULT_FIRST, DEFAULT_COUNT};
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the host ids \"%s\"", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return refuse(path, "it must be a file that root owns and nobody else can write",
			      err);
	if (iso_fd_read_all(fd, FILE_MAX, &text, &size) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the host ids \"%s\"", path);
	return parse_range(path, text, ret_range, err);
}

/* Whether a line of the id map at `path` covers the whole range. */
static bool is_mapped_in(const char *path, const struct iso_id_range *range)
{
	char text[16384];
	const uint64_t end = range->first + (uint64_t)range->block_count * ISO_ID_BLOCK;
	if (iso_fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	for (char *line = text; *line != '\0';) {
		char *next;
		uint64_t inner = strtoull(line, &next, 10);
		(void)strtoull(next, &next, 10); /* where it leads to */
		uint64_t count = strtoull(next, &next, 10);
		if (inner <= range->first && end <= inner + count)
			return true;
		line = strchrnul(next, '\n');
		if (*line == '\n')
			line++;
	}
	return false;
}

bool iso_id_range_is_mapped(const struct iso_id_range *range)
{
	return is_mapped_in("/proc/self/uid_map", range) &&
	       is_mapped_in("/proc/self/gid_map", range);
}

bool iso_id_block_is_subordinate(const char *path, uint32_t first)
{
	ISO_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ISO_AUTO_FREE char *text = NULL;
	size_t size;
	if (fd < 0 || iso_fd_read_all(fd, FILE_MAX, &text, &size) < 0)
		return false;
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *start = strchr(line, ':'), *end;
		if (start == NULL)
			continue;
		uint64_t from = strtoull(start + 1, &end, 10);
		uint64_t count = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
		if (from < (uint64_t)first + ISO_ID_BLOCK && first < from + count)
			return true;
	}
	return false;
}

/* --- taking blocks */

/* The lock file, opened anew: the lock belongs to the open file. -1 with errno. */
static int open_locks(void)
{
	struct stat st;
	if (mkdir(ISO_HOST_IDS_PLACE, 0700) < 0 && errno != EEXIST)
		return -1;
	ISO_AUTO_CLOSE int place_fd =
		open(ISO_HOST_IDS_PLACE, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place_fd < 0 || fstat(place_fd, &st) < 0)
		return -1;
	if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		errno = EPERM;
		return -1;
	}
	return iso_fd_above_stdio(openat(place_fd, ISO_HOST_IDS_LOCKS,
					 O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

static bool lock_byte(int fd, uint32_t index)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = index,
		.l_len = 1,
	};
	return fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static void unlock_byte(int fd, uint32_t index)
{
	struct flock lock = {
		.l_type = F_UNLCK,
		.l_whence = SEEK_SET,
		.l_start = index,
		.l_len = 1,
	};
	if (fd >= 0)
		(void)fcntl(fd, F_OFD_SETLK, &lock);
}

/* Whether the process `pid` has that id and still runs: a dead one may wait for its parent for
 * ever. */
static bool lives_as(const char *pid, uint32_t uid)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (iso_fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	const char *state = strstr(text, "\nState:\t"), *ids = strstr(text, "\nUid:\t");
	return state != NULL && ids != NULL && strchr("ZX", state[strlen("\nState:\t")]) == NULL &&
	       strtoull(ids + strlen("\nUid:\t"), NULL, 10) == uid;
}

/* Whether any process that can be seen has that id. The kernel knows at once of an id that nobody
 * has. */
static bool is_alive(uint32_t uid)
{
	bool found = false;
	errno = 0;
	if (getpriority(PRIO_USER, uid) == -1 && errno == ESRCH)
		return false;
	DIR *dir = opendir("/proc");
	if (dir == NULL)
		return true;
	for (const struct dirent *entry; !found && (entry = readdir(dir)) != NULL;)
		found = isdigit((unsigned char)entry->d_name[0]) && lives_as(entry->d_name, uid);
	(void)closedir(dir);
	return found;
}

static bool is_free(uint32_t first, uint32_t slot)
{
	return !is_alive(first + slot) && !iso_id_block_is_subordinate("/etc/subuid", first) &&
	       !iso_id_block_is_subordinate("/etc/subgid", first);
}

static int take_any(const struct iso_id_range *range, uint32_t slot, struct iso_id_block *ret_block,
		    struct iso_error *err)
{
	uint32_t start;
	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	ISO_AUTO_CLOSE int fd = open_locks();
	if (fd < 0 && errno != EROFS && errno != ENOENT && errno != EACCES)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open \"%s/%s\"",
				     ISO_HOST_IDS_PLACE, ISO_HOST_IDS_LOCKS);
	for (uint32_t i = 0; i < range->block_count; i++) {
		uint32_t index = (uint32_t)(((uint64_t)start + i) % range->block_count);
		uint32_t first = range->first + index * ISO_ID_BLOCK;
		if (!lock_byte(fd, index))
			continue;
		if (is_free(first, slot)) {
			*ret_block = (struct iso_id_block){first, ISO_TAKE_FD(fd)};
			return 0;
		}
		unlock_byte(fd, index);
	}
	iso_error_set(err, ISO_ERR_UNSUPPORTED, 0,
		      "take host ids for the payload: all %" PRIu32 " blocks are in use",
		      range->block_count);
	return iso_error_hint(err, "name a larger range in %s", ISO_HOST_IDS_FILE);
}

void iso_host_ids_init(struct iso_host_ids *ret_ids, const struct iso_id_range *range)
{
	*ret_ids = (struct iso_host_ids){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.range = *range,
	};
}

void iso_host_ids_done(struct iso_host_ids *ids)
{
	while (ids->kept_count > 0)
		iso_fd_close(ids->kept[--ids->kept_count].lock_fd);
	pthread_mutex_destroy(&ids->lock);
}

int iso_host_ids_take(struct iso_host_ids *ids, uint32_t slot, struct iso_id_block *ret_block,
		      struct iso_error *err)
{
	*ret_block = ISO_ID_BLOCK_NONE;
	pthread_mutex_lock(&ids->lock);
	if (ids->kept_count > 0)
		*ret_block = ids->kept[--ids->kept_count];
	pthread_mutex_unlock(&ids->lock);
	return ret_block->first != 0 ? 0 : take_any(&ids->range, slot, ret_block, err);
}

void iso_host_ids_give_back(struct iso_host_ids *ids, struct iso_id_block *block, bool all_gone)
{
	bool kept = false;
	pthread_mutex_lock(&ids->lock);
	if (all_gone && block->lock_fd >= 0 && ids->kept_count < ISO_HOST_IDS_KEPT) {
		ids->kept[ids->kept_count++] = *block;
		kept = true;
	}
	pthread_mutex_unlock(&ids->lock);
	if (!kept)
		iso_fd_close(block->lock_fd);
	*block = ISO_ID_BLOCK_NONE;
}

/* --- maps */

void iso_id_map_inside(uint32_t first, uint32_t inner, char ret_map[ISO_ID_MAP_SIZE])
{
	if (inner < ISO_ID_BLOCK)
		snprintf(ret_map, ISO_ID_MAP_SIZE, "0 %u %u\n", first, ISO_ID_BLOCK);
	else
		snprintf(ret_map, ISO_ID_MAP_SIZE, "0 %u %u\n%u %u 1\n", first, ISO_ID_BLOCK - 1,
			 inner, first + ISO_ID_BLOCK - 1);
}

/* Append the line that maps `count` ids; none where there are none. */
static char *add_line(char *map, const char *end, uint32_t inside, uint32_t outside, uint32_t count)
{
	if (count > 0)
		map += snprintf(map, (size_t)(end - map), "%u %u %u\n", inside, outside, count);
	return map;
}

void iso_id_map_mount(uint32_t first, uint32_t slot, uint32_t owner, char ret_map[ISO_ID_MAP_SIZE])
{
	/* cppcheck-suppress ctuPointerArith ; one behind the last */
	const char *end = ret_map + ISO_ID_MAP_SIZE;
	uint32_t low = owner < slot ? owner : slot, high = owner < slot ? slot : owner;
	uint32_t after = high + 1;
	bool is_beyond = owner >= ISO_ID_BLOCK;
	if (is_beyond)
		after = low + 1; /* its own number is not in the block: `slot` on disk is nobody */
	char *map = add_line(ret_map, end, 0, first, low);
	map = add_line(map, end, owner, first + slot, 1);
	if (!is_beyond && owner != slot) {
		map = add_line(map, end, slot, first + owner, 1);
		map = add_line(map, end, low + 1, first + low + 1, high - low - 1);
	}
	(void)add_line(map, end, after, first + after, ISO_ID_BLOCK - after);
}
