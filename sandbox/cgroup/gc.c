/*
 * Cleaning up after killed isoruns. The v2 directory of a run is its anchor: it is made first and
 * removed last, and it carries the lock. What stands in a v1 hierarchy without a locked anchor of
 * the same name belongs to nobody.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "sandbox/cgroup/cgroup.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define YOUNG_S		2    /* its isorun may not have locked it yet */
#define PASSING_MS	1000 /* how long a run waits for what others left, */
#define KILL_LIMIT_MS	5000 /* and who came for just that */
#define DEPTH_MAX	32

struct sweep {
	uint64_t wait_ms; /* for a killed one to be gone */
	uint64_t removed;
	int failed_errno; /* the first failure */
	char failed_name[256];
};

static void note_failure(struct sweep *sweep, const char *name, int os_errno)
{
	if (sweep->failed_errno != 0)
		return;
	sweep->failed_errno = os_errno;
	snprintf(sweep->failed_name, sizeof(sweep->failed_name), "%s", name);
}

static bool is_run(const char *name)
{
	return strncmp(name, ISO_CGROUP_PREFIX, strlen(ISO_CGROUP_PREFIX)) == 0 &&
	       name[strlen(ISO_CGROUP_PREFIX)] >= '0' && name[strlen(ISO_CGROUP_PREFIX)] <= '9';
}

/*
 * What is left in it does not go when it is killed. That is written down in the directory's mode,
 * so that nobody who only passes by waits for it once more.
 */
#define MODE_GIVEN_UP 0700

void iso_cgroup_give_up(const struct iso_cgroup *cgroup)
{
	(void)fchmod(cgroup->dir_fd, MODE_GIVEN_UP); /* else the next one waits, too */
}

static bool is_given_up(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (st.st_mode & 0777) == MODE_GIVEN_UP;
}

/* Nobody's: old enough, or given up, and its lock can be had (it is kept in `fd`). What cgroupfs
 * gives as the time is that of the first look at the directory, which is never too early. */
static bool is_stale(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (time(NULL) - st.st_ctime >= YOUNG_S || is_given_up(fd)) &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Kill and remove the v2 cgroup `name` in `parent_fd` if it is nobody's. */
static void clean_v2(int parent_fd, const char *name, struct sweep *sweep)
{
	ISO_AUTO_CLOSE int fd = openat(parent_fd, name, DIRECTORY_FLAGS);
	if (fd < 0 || !is_stale(fd))
		return;
	ISO_AUTO_CLOSE int events_fd = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	const struct iso_cgroup cgroup = {
		.mode = ISO_CGROUP_UNIFIED, .dir_fd = fd, .events_fd = events_fd, .oom_fd = -1};
	uint64_t wait_ms = sweep->wait_ms < KILL_LIMIT_MS && is_given_up(fd) ? 0 : sweep->wait_ms;
	if (iso_cgroup_kill(&cgroup) < 0 ||
	    iso_cgroup_wait_empty(&cgroup, iso_deadline_after(iso_clock_mono_ns(), wait_ms)) < 0) {
		note_failure(sweep, name, EBUSY);
		iso_cgroup_give_up(&cgroup);
	} else if (iso_cgroup_remove_directory(parent_fd, name) < 0) {
		note_failure(sweep, name, errno);
	} else {
		sweep->removed++;
	}
}

/* Call `clean` for each run's directory in `dir_fd` (taken over) and, with `depth`, below. */
static void walk(int dir_fd, unsigned int depth, struct sweep *sweep,
		 void (*clean)(int parent_fd, const char *name, struct sweep *sweep))
{
	DIR *dir = fdopendir(dir_fd);
	if (dir == NULL) {
		iso_fd_close(dir_fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (is_run(entry->d_name)) {
			clean(dirfd(dir), entry->d_name, sweep);
		} else if (depth > 0) {
			int below = openat(dirfd(dir), entry->d_name, DIRECTORY_FLAGS);
			if (below >= 0)
				walk(below, depth - 1, sweep, clean);
		}
	}
	closedir(dir);
}

/* Whether the v2 hierarchy below `dir_fd` (taken over) has a run of that name. */
static bool has_anchor(int dir_fd, const char *name, unsigned int depth)
{
	struct stat st;
	bool found = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	DIR *dir = fdopendir(dir_fd);
	if (dir == NULL) {
		iso_fd_close(dir_fd);
		return true; /* unknown: hands off */
	}
	for (struct dirent *entry; !found && depth > 0 && (entry = readdir(dir)) != NULL;) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || is_run(entry->d_name))
			continue;
		int below = openat(dirfd(dir), entry->d_name, DIRECTORY_FLAGS);
		found = below >= 0 && has_anchor(below, name, depth - 1);
	}
	closedir(dir);
	return found;
}

/* Remove a v1 cgroup whose anchor is gone, however young it is: the anchor was there before it.
 * With members it is somebody's, and rmdir refuses. */
static void clean_v1(int parent_fd, const char *name, struct sweep *sweep)
{
	enum iso_cgroup_mode mode;
	const char *mount = iso_cgroup_find_mount(&mode);
	int mount_fd = mount != NULL ? open(mount, DIRECTORY_FLAGS) : -1;
	if (mount_fd < 0 || has_anchor(mount_fd, name, DEPTH_MAX))
		return;
	if (iso_cgroup_remove_directory(parent_fd, name) < 0)
		note_failure(sweep, name, errno);
}

void iso_cgroup_sweep(const struct iso_cgroup_site *site)
{
	/* What cannot be cleaned now is for `isorun gc` to tell. */
	struct sweep sweep = {.wait_ms = PASSING_MS};
	if (site->mode == ISO_CGROUP_NONE)
		return;
	int fd = openat(site->dir_fd, ".", DIRECTORY_FLAGS);
	if (fd >= 0)
		walk(fd, 0, &sweep, clean_v2);
	for (int v1 = 0; sweep.removed > 0 && v1 < ISO_V1_COUNT; v1++) {
		if (site->v1_dir_fds[v1] < 0)
			continue;
		fd = openat(site->v1_dir_fds[v1], ".", DIRECTORY_FLAGS);
		if (fd >= 0)
			walk(fd, 0, &sweep, clean_v1);
	}
}

int iso_cgroup_gc(uint64_t *ret_removed, struct iso_error *err)
{
	struct sweep sweep = {.wait_ms = KILL_LIMIT_MS};
	enum iso_cgroup_mode mode;
	const char *mount = iso_cgroup_find_mount(&mode);
	if (mount == NULL)
		return iso_error_set(err, ISO_ERR_UNSUPPORTED, 0, "find a cgroup v2 hierarchy");
	int fd = open(mount, DIRECTORY_FLAGS);
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open \"%s\"", mount);
	walk(fd, DEPTH_MAX, &sweep, clean_v2);
	for (int v1 = 0; mode == ISO_CGROUP_HYBRID && v1 < ISO_V1_COUNT; v1++) {
		char path[ISO_V1_MOUNT_SIZE];
		iso_cgroup_v1_mount((enum iso_v1)v1, path);
		fd = open(path, DIRECTORY_FLAGS);
		if (fd >= 0)
			walk(fd, DEPTH_MAX, &sweep, clean_v1);
	}
	*ret_removed = sweep.removed;
	if (sweep.failed_errno != 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, sweep.failed_errno,
				     "remove cgroup \"%s\"", sweep.failed_name);
	return 0;
}
