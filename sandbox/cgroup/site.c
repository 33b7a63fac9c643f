/*
 * Finding the place for runs.
 *
 * A run's cgroup should be as close to the caller as possible, so that limits on the caller's own
 * service hold for it too. On a unified host that is the nearest ancestor (the own cgroup included)
 * that hands the memory and pids controllers to its children; when the own cgroup could do so but
 * for this process being in it, and nobody else is, this process steps into a leaf. On a hybrid
 * host controllers do not matter on the v2 side, and each v1 hierarchy takes children of the own
 * cgroup.
 */
#include "sandbox/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/parse.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"
#define SUPERVISOR_LEAF "isorun-supervisor"
#define MOVE_ROUNDS	10
#define ENTER_TRIES	1000
#define ENTER_PAUSE_US	1000
#define SELF_CGROUP_MAX 8192
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static const char *const v1_names[ISO_V1_COUNT] = {
	[ISO_V1_MEMORY] = "memory",
	[ISO_V1_PIDS] = "pids",
	[ISO_V1_CPU] = "cpu",
};

static bool is_cgroup2(const char *path)
{
	struct statfs fs;
	return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

const char *iso_cgroup_find_mount(enum iso_cgroup_mode *ret_mode)
{
	*ret_mode = ISO_CGROUP_UNIFIED;
	if (is_cgroup2(CGROUP_ROOT))
		return CGROUP_ROOT;
	*ret_mode = ISO_CGROUP_HYBRID;
	return is_cgroup2(CGROUP_ROOT "/unified") ? CGROUP_ROOT "/unified" : NULL;
}

void iso_cgroup_v1_mount(enum iso_v1 v1, char ret_path[ISO_V1_MOUNT_SIZE])
{
	snprintf(ret_path, ISO_V1_MOUNT_SIZE, CGROUP_ROOT "/%s", v1_names[v1]);
}

/* True when the comma- or blank-separated `list` of `length` bytes holds `word`. */
static bool list_has(const char *list, size_t length, const char *word)
{
	size_t word_length = strlen(word);
	const char *end = list + length;
	while (list < end) {
		size_t item = 0;
		while (list + item < end && list[item] != ',' && list[item] != ' ' &&
		       list[item] != '\n')
			item++;
		if (item == word_length && memcmp(list, word, item) == 0)
			return true;
		list += item + 1;
	}
	return false;
}

/*
 * This process's path in a hierarchy, from the text of /proc/self/cgroup: lines of
 * "ID:CONTROLLERS:PATH", where v2 has the id 0 and no controllers.
 */
static int own_path(const char *text, const char *controller, char *ret_path, size_t size)
{
	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *end = strchrnul(line, '\n');
		const char *list = memchr(line, ':', (size_t)(end - line));
		const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
		if (path != NULL) {
			size_t list_length = (size_t)(path - list - 1);
			bool match = controller == NULL
					     ? strncmp(line, "0::", 3) == 0
					     : list_has(list + 1, list_length, controller);
			int length = (int)(end - path - 1);
			if (match && (size_t)length < size) {
				snprintf(ret_path, size, "%.*s", length, path + 1);
				return 0;
			}
		}
		line = *end == '\n' ? end + 1 : NULL;
	}
	return -1;
}

static int open_own(const char *mount, const char *own, char *ret_path, size_t size,
		    struct iso_error *err)
{
	snprintf(ret_path, size, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
	int fd = strstr(own, "/..") != NULL ? -1 : open(ret_path, DIRECTORY_FLAGS);
	if (fd < 0) {
		iso_error_set(err, ISO_ERR_UNSUPPORTED, errno, "open own cgroup \"%s\"", ret_path);
		iso_error_hint(err,
			       "the cgroup file system must show this process's own cgroup; in "
			       "a container use a private cgroup namespace");
	}
	return fd;
}

static int refuse_delegation(const char *path, int os_errno, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_UNSUPPORTED, os_errno,
		      "create cgroups with memory and pids controllers below \"%s\"", path);
	if (os_errno == EROFS)
		return iso_error_hint(err, "mount the cgroup file system writable (in a container "
					   "it often is not), or accept runs without limits with "
					   "--cgroup optional");
	return iso_error_hint(err,
			      "start isorun in a delegated cgroup of its own: systemd-run "
			      "%s--scope -p Delegate=yes -- isorun …",
			      geteuid() == 0 ? "" : "--user ");
}

/* Whether children of `dir_fd` get memory and pids limits; tries to hand the controllers down. */
static bool hands_down_controllers(int dir_fd)
{
	char list[256];
	ssize_t length = iso_fd_read_small(dir_fd, "cgroup.subtree_control", list, sizeof(list));
	if (length < 0)
		return false;
	bool ready =
		list_has(list, (size_t)length, "memory") && list_has(list, (size_t)length, "pids");
	if (!ready)
		ready = iso_fd_write_control(dir_fd, "cgroup.subtree_control", "+memory +pids") ==
			0;
	if (ready && !list_has(list, (size_t)length, "cpu")) /* only runs with --cpus need it */
		(void)iso_fd_write_control(dir_fd, "cgroup.subtree_control", "+cpu");
	return ready;
}

static bool is_alone_in(int dir_fd)
{
	char members[256];
	ssize_t length = iso_fd_read_small(dir_fd, "cgroup.procs", members, sizeof(members));
	uint64_t pid;
	if (length <= 0 || members[length - 1] != '\n')
		return false;
	members[length - 1] = '\0';
	return iso_parse_u64(members, &pid) == 0 && pid == (uint64_t)getpid();
}

/*
 * The leaf below `home_fd`, locked shared, or -1. Every user of the leaf holds such a lock:
 * stations of this process and other isoruns that were started from it. Who leaves last takes the
 * leaf away, under an exclusive lock, and is waited for here.
 */
static int enter_leaf(int home_fd)
{
	for (int tries = 0; tries < ENTER_TRIES; tries++) {
		struct stat ours, named;
		/* Nobody else's to open: a lock there would keep everybody waiting. */
		if (mkdirat(home_fd, SUPERVISOR_LEAF, 0711) < 0 && errno != EEXIST)
			return -1;
		ISO_AUTO_CLOSE int fd = openat(home_fd, SUPERVISOR_LEAF, DIRECTORY_FLAGS);
		if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &ours) == 0 &&
		    fstatat(home_fd, SUPERVISOR_LEAF, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    named.st_ino == ours.st_ino)
			return ISO_TAKE_FD(fd);
		if (fd < 0 && errno == EACCES) /* another user's */
			return -1;
		usleep(ENTER_PAUSE_US);
	}
	return -1;
}

/* Whether there are cgroups below besides the leaf: theirs are the controllers, too. */
static bool has_others_below(int home_fd)
{
	const nlink_t own_links = 2, leaf_links = 1;
	struct stat st;
	return fstat(home_fd, &st) < 0 || st.st_nlink > own_links + leaf_links;
}

static bool is_leaf(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL && strcmp(slash + 1, SUPERVISOR_LEAF) == 0;
}

/* Whether this process is in a leaf: not every user of one is. */
static bool is_in_leaf(void)
{
	char self[SELF_CGROUP_MAX], own[PATH_MAX];
	return iso_fd_read_small(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) > 0 &&
	       own_path(self, NULL, own, sizeof(own)) == 0 && is_leaf(own);
}

/* Leave the leaf, whose lock `leaf_fd` is taken over; the last user undoes it. */
static void step_back(int home_fd, int leaf_fd)
{
	/* Taking the exclusive lock gives the shared one up first, so of several who leave at once
	 * one succeeds. */
	bool last = flock(leaf_fd, LOCK_EX | LOCK_NB) == 0;
	/* Best effort, in the only order that the kernel accepts. */
	if (last && !has_others_below(home_fd)) {
		bool inside = is_in_leaf();
		(void)iso_fd_write_control(home_fd, "cgroup.subtree_control", "-memory -pids");
		(void)iso_fd_write_control(home_fd, "cgroup.subtree_control", "-cpu");
		if (inside)
			(void)iso_fd_write_control(home_fd, "cgroup.procs", "0");
		(void)unlinkat(home_fd, SUPERVISOR_LEAF, AT_REMOVEDIR);
	}
	(void)flock(leaf_fd, LOCK_UN); /* a process that was forked meanwhile may hold a copy */
	iso_fd_close(leaf_fd);
}

/* What systemd marks so is left to those who run in there, all of it (systemd.exec(5)). */
static bool is_delegated(int dir_fd)
{
	char value[4] = "";
	return (fgetxattr(dir_fd, "user.delegate", value, sizeof(value)) > 0 ||
		fgetxattr(dir_fd, "trusted.delegate", value, sizeof(value)) > 0) &&
	       value[0] == '1';
}

/* Move the members of `dir_fd` to its leaf: only this process, or everybody who is listed. */
static bool move_to_leaf(int dir_fd, bool everybody)
{
	static const char leaf_procs[] = SUPERVISOR_LEAF "/cgroup.procs";
	if (iso_fd_write_control(dir_fd, leaf_procs, "0") < 0)
		return false;
	char members[4096];
	ssize_t length =
		everybody ? iso_fd_read_small(dir_fd, "cgroup.procs", members, sizeof(members)) : 0;
	char *rest = NULL;
	for (char *pid = length > 0 ? strtok_r(members, "\n", &rest) : NULL; pid != NULL;
	     pid = strtok_r(NULL, "\n", &rest))
		(void)iso_fd_write_control(dir_fd, leaf_procs, pid); /* it may have ended */
	return true;
}

/* Move this process from `dir_fd` to a leaf below, with those beside it if it was delegated; new
 * ones may be forked meanwhile, hence the rounds. The leaf's lock, or -1. */
static int step_aside(int dir_fd, bool from_leaf)
{
	bool delegated = is_delegated(dir_fd);
	if (!delegated && !from_leaf && !is_alone_in(dir_fd))
		return -1;
	int leaf_fd = enter_leaf(dir_fd);
	for (int round = 0; leaf_fd >= 0 && round < MOVE_ROUNDS; round++) {
		if (!move_to_leaf(dir_fd, delegated))
			break;
		if (hands_down_controllers(dir_fd))
			return leaf_fd;
	}
	if (leaf_fd >= 0)
		step_back(dir_fd, leaf_fd);
	return -1;
}

/* Take the directory above as the place that is looked at; false: there is none in the mount. */
static bool go_up(struct iso_cgroup_site *site, char *path, size_t mount_length)
{
	char *slash = strrchr(path, '/');
	if (slash < path + mount_length)
		return false;
	*slash = '\0';
	iso_fd_close(site->dir_fd);
	site->dir_fd = open(path, DIRECTORY_FLAGS);
	return true;
}

static bool has_leaf(int dir_fd)
{
	return faccessat(dir_fd, SUPERVISOR_LEAF, F_OK, AT_EACCESS) == 0;
}

/*
 * Whether `site->dir_fd` hands controllers down, and will for as long as the site is in use. Where
 * somebody did that who stepped into a leaf, which may have happened while we were looking, his
 * last one undoes it: then this site is one more user of the leaf, wherever its process is.
 */
static bool settle_where_handed_down(struct iso_cgroup_site *site)
{
	if (!hands_down_controllers(site->dir_fd) ||
	    faccessat(site->dir_fd, ".", W_OK, AT_EACCESS) < 0)
		return false;
	if (!has_leaf(site->dir_fd))
		return hands_down_controllers(site->dir_fd); /* nobody has just undone it */
	site->leaf_fd = enter_leaf(site->dir_fd);
	if (site->leaf_fd >= 0 && hands_down_controllers(site->dir_fd))
		return true;
	if (site->leaf_fd >= 0)
		step_back(site->dir_fd, site->leaf_fd);
	site->leaf_fd = -1;
	return false;
}

/* Whether runs can be created in the directory that is looked at. */
static bool settle(struct iso_cgroup_site *site, bool from_leaf)
{
	/* A leaf that this process is already in has users, of whom this is one more. */
	if (!from_leaf && settle_where_handed_down(site))
		return true;
	if (faccessat(site->dir_fd, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return false;
	site->leaf_fd = step_aside(site->dir_fd, from_leaf);
	return site->leaf_fd >= 0;
}

static int open_unified(struct iso_cgroup_site *site, char *path, size_t mount_length,
			struct iso_error *err)
{
	bool read_only = faccessat(site->dir_fd, ".", W_OK, AT_EACCESS) < 0 && errno == EROFS;
	bool from_leaf = is_leaf(path) && go_up(site, path, mount_length);
	while (site->dir_fd >= 0 && !settle(site, from_leaf)) {
		from_leaf = false;
		if (!go_up(site, path, mount_length))
			return refuse_delegation(site->path, read_only ? EROFS : EACCES, err);
	}
	if (site->dir_fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open cgroup \"%s\"", path);
	free(site->path);
	site->path = strdup(path);
	return site->path == NULL ? iso_error_nomem(err) : 0;
}

static int open_hybrid(struct iso_cgroup_site *site, const char *self, struct iso_error *err)
{
	if (faccessat(site->dir_fd, ".", W_OK, AT_EACCESS) < 0)
		return refuse_delegation(site->path, errno, err);
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++) {
		char own[PATH_MAX], mount[ISO_V1_MOUNT_SIZE], path[PATH_MAX + 64];
		if (own_path(self, v1_names[v1], own, sizeof(own)) < 0) {
			if (v1 == ISO_V1_CPU)
				continue; /* only runs with --cpus need it */
			iso_error_set(err, ISO_ERR_UNSUPPORTED, 0,
				      "find a \"%s\" controller in cgroup v2 or v1", v1_names[v1]);
			return iso_error_hint(err,
					      "boot with systemd.unified_cgroup_hierarchy=1, or "
					      "mount the v1 hierarchy below " CGROUP_ROOT);
		}
		iso_cgroup_v1_mount((enum iso_v1)v1, mount);
		site->v1_dir_fds[v1] = open_own(mount, own, path, sizeof(path), err);
		if (site->v1_dir_fds[v1] < 0)
			return -1;
		if (v1 != ISO_V1_CPU && faccessat(site->v1_dir_fds[v1], ".", W_OK, AT_EACCESS) < 0)
			return refuse_delegation(path, errno, err);
	}
	return 0;
}

static int open_site(struct iso_cgroup_site *site, struct iso_error *err)
{
	char self[SELF_CGROUP_MAX], own[PATH_MAX], path[PATH_MAX + 64];
	if (iso_fd_read_small(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read \"/proc/self/cgroup\"");

	const char *mount = iso_cgroup_find_mount(&site->mode);
	if (mount == NULL || own_path(self, NULL, own, sizeof(own)) < 0) {
		iso_error_set(err, ISO_ERR_UNSUPPORTED, 0,
			      "find a cgroup v2 hierarchy at \"" CGROUP_ROOT "\" or \"" CGROUP_ROOT
			      "/unified\"");
		return iso_error_hint(err,
				      "mount cgroup2 there (mount -t cgroup2 cgroup2 " CGROUP_ROOT
				      "), or accept runs without limits with "
				      "--cgroup optional");
	}
	site->dir_fd = open_own(mount, own, path, sizeof(path), err);
	if (site->dir_fd < 0)
		return -1;
	site->path = strdup(path);
	if (site->path == NULL)
		return iso_error_nomem(err);
	if (site->mode == ISO_CGROUP_UNIFIED)
		return open_unified(site, path, strlen(mount), err);
	return open_hybrid(site, self, err);
}

int iso_cgroup_site_open(struct iso_cgroup_site *ret_site, struct iso_error *err)
{
	struct iso_cgroup_site site = {.dir_fd = -1, .leaf_fd = -1, .v1_dir_fds = {-1, -1, -1}};
	if (open_site(&site, err) < 0) {
		iso_cgroup_site_done(&site);
		return -1;
	}
	*ret_site = site;
	return 0;
}

void iso_cgroup_site_done(struct iso_cgroup_site *site)
{
	if (site->mode == ISO_CGROUP_NONE)
		return;
	if (site->leaf_fd >= 0)
		step_back(site->dir_fd, site->leaf_fd);
	iso_fd_close(site->dir_fd);
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++)
		iso_fd_close(site->v1_dir_fds[v1]);
	free(site->path);
	*site = (struct iso_cgroup_site){0};
}
