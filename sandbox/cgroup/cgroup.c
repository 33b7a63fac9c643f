/*
 * One run's cgroup from mkdir to rmdir. Directories have fresh random names, so a leftover (or a
 * frozen trap) of the same name is never adopted. The mode decides which files are touched, the
 * order never changes: create, limit, read back, (run,) kill, wait, read, remove.
 */
#include "sandbox/cgroup/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/random.h"
#include "sandbox/cgroup/counters.h"

#define DIRECTORY_FLAGS	       (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define CPU_PERIOD_US	       100000
#define RMDIR_RETRY_NS	       500000
#define DEPTH_MAX	       64
#define LINKS_WITHOUT_CHILDREN 2 /* its name and its "." */

static const char *const mode_names[] = {
	[ISO_CGROUP_NONE] = "none",
	[ISO_CGROUP_UNIFIED] = "unified",
	[ISO_CGROUP_HYBRID] = "hybrid",
};

const char *iso_cgroup_mode_name(enum iso_cgroup_mode mode)
{
	return mode_names[mode];
}

static int write_number(const struct iso_cgroup *cgroup, int dir_fd, const char *file,
			uint64_t value, struct iso_error *err)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (iso_fd_write_control(dir_fd, file, text) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "write %s to cgroup \"%s/%s\"",
				     text, cgroup->name, file);
	return 0;
}

/* Read a limit back: what is in force must not exceed what was asked for. */
static int read_back(const struct iso_cgroup *cgroup, int dir_fd, const char *file,
		     uint64_t requested, uint64_t *ret_effective, struct iso_error *err)
{
	uint64_t effective = iso_cgroup_read_number(dir_fd, file);
	if (effective > requested)
		return iso_error_set(err, ISO_ERR_UNSUPPORTED, 0,
				     "limit cgroup \"%s/%s\": asked for %" PRIu64
				     ", the kernel keeps %" PRIu64,
				     cgroup->name, file, requested, effective);
	*ret_effective = effective;
	return 0;
}

static int limit_cpu(struct iso_cgroup *cgroup, uint64_t millis, struct iso_error *err)
{
	cgroup->cpu_effective_millis = ISO_UNLIMITED;
	if (millis == ISO_UNLIMITED)
		return 0;
	uint64_t quota_us = millis * CPU_PERIOD_US / 1000;
	if (quota_us < 1000) /* the kernel's smallest quota */
		quota_us = 1000;
	if (cgroup->mode == ISO_CGROUP_UNIFIED) {
		char text[64];
		snprintf(text, sizeof(text), "%" PRIu64 " %d", quota_us, CPU_PERIOD_US);
		if (iso_fd_write_control(cgroup->dir_fd, "cpu.max", text) < 0) {
			iso_error_set(err, ISO_ERR_UNSUPPORTED, errno,
				      "write cgroup \"%s/cpu.max\"", cgroup->name);
			return iso_error_hint(err, "the cpu controller must be delegated too");
		}
		quota_us = iso_cgroup_read_number(cgroup->dir_fd, "cpu.max");
	} else {
		int dir_fd = cgroup->v1_fds[ISO_V1_CPU];
		if (dir_fd < 0)
			return iso_error_set(err, ISO_ERR_UNSUPPORTED, 0,
					     "find a \"cpu\" controller in cgroup v2 or v1");
		if (write_number(cgroup, dir_fd, "cpu.cfs_period_us", CPU_PERIOD_US, err) < 0 ||
		    write_number(cgroup, dir_fd, "cpu.cfs_quota_us", quota_us, err) < 0)
			return -1;
		quota_us = iso_cgroup_read_number(dir_fd, "cpu.cfs_quota_us");
	}
	cgroup->cpu_effective_millis = quota_us * 1000 / CPU_PERIOD_US;
	return 0;
}

/* Swap would let a run outgrow its memory limit. A host without swap accounting has no file. */
static int forbid_swap(const struct iso_cgroup *cgroup, uint64_t memory_bytes,
		       struct iso_error *err)
{
	int dir_fd = cgroup->dir_fd;
	const char *file = "memory.swap.max";
	uint64_t value = 0;
	if (cgroup->mode == ISO_CGROUP_HYBRID) {
		dir_fd = cgroup->v1_fds[ISO_V1_MEMORY];
		file = "memory.memsw.limit_in_bytes"; /* memory and swap together */
		value = memory_bytes;
	}
	if (faccessat(dir_fd, file, F_OK, 0) == 0)
		return write_number(cgroup, dir_fd, file, value, err);
	if (cgroup->mode == ISO_CGROUP_HYBRID)
		return write_number(cgroup, dir_fd, "memory.swappiness", 0, err);
	return 0;
}

/*
 * The v1 kernel kills one process where v2 kills the group: an eventfd wakes the supervisor, which
 * then kills the rest.
 */
static int watch_v1_oom(struct iso_cgroup *cgroup, struct iso_error *err)
{
	int dir_fd = cgroup->v1_fds[ISO_V1_MEMORY];
	cgroup->oom_fd = iso_fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	ISO_AUTO_CLOSE int control_fd = openat(dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char text[32];
	snprintf(text, sizeof(text), "%d %d", cgroup->oom_fd, control_fd);
	if (cgroup->oom_fd < 0 || control_fd < 0 ||
	    iso_fd_write_control(dir_fd, "cgroup.event_control", text) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno,
				     "watch cgroup \"%s/memory.oom_control\"", cgroup->name);
	return 0;
}

/* In v1 what sockets hold is counted apart, and not at all without a limit of its own. */
static int limit_v1_sockets(const struct iso_cgroup *cgroup, uint64_t bytes, struct iso_error *err)
{
	static const char file[] = "memory.kmem.tcp.limit_in_bytes";
	int dir_fd = cgroup->v1_fds[ISO_V1_MEMORY];
	uint64_t effective;
	if (faccessat(dir_fd, file, F_OK, 0) < 0)
		return 0; /* a kernel that does not count it */
	if (write_number(cgroup, dir_fd, file, bytes, err) < 0)
		return -1;
	return read_back(cgroup, dir_fd, file, bytes, &effective, err);
}

static int limit_memory(struct iso_cgroup *cgroup, uint64_t bytes, struct iso_error *err)
{
	bool unified = cgroup->mode == ISO_CGROUP_UNIFIED;
	int dir_fd = unified ? cgroup->dir_fd : cgroup->v1_fds[ISO_V1_MEMORY];
	const char *file = unified ? "memory.max" : "memory.limit_in_bytes";
	if (write_number(cgroup, dir_fd, file, bytes, err) < 0 ||
	    forbid_swap(cgroup, bytes, err) < 0 ||
	    read_back(cgroup, dir_fd, file, bytes, &cgroup->memory_effective_bytes, err) < 0)
		return -1;
	if (unified)
		return write_number(cgroup, dir_fd, "memory.oom.group", 1, err);
	return limit_v1_sockets(cgroup, bytes, err) < 0 ? -1 : watch_v1_oom(cgroup, err);
}

static int limit_pids(struct iso_cgroup *cgroup, uint64_t count, struct iso_error *err)
{
	int dir_fd =
		cgroup->mode == ISO_CGROUP_UNIFIED ? cgroup->dir_fd : cgroup->v1_fds[ISO_V1_PIDS];
	uint64_t effective = 0;
	if (write_number(cgroup, dir_fd, "pids.max", count + ISO_CGROUP_INIT_COUNT, err) < 0 ||
	    read_back(cgroup, dir_fd, "pids.max", count + ISO_CGROUP_INIT_COUNT, &effective, err) <
		    0)
		return -1;
	cgroup->pids_effective_count = effective - ISO_CGROUP_INIT_COUNT;
	return 0;
}

static int make_directory(int parent_fd, const char *name, int *ret_fd, struct iso_error *err)
{
	/* For others to walk through and not to open: who can open it can lock it. */
	if (mkdirat(parent_fd, name, 0711) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create cgroup \"%s\"", name);
	*ret_fd = iso_fd_above_stdio(openat(parent_fd, name, DIRECTORY_FLAGS));
	if (*ret_fd < 0) {
		int saved = errno;
		(void)unlinkat(parent_fd, name,
			       AT_REMOVEDIR); /* without a handle nobody else would */
		return iso_error_set(err, ISO_ERR_SYSTEM, saved, "open cgroup \"%s\"", name);
	}
	return 0;
}

bool iso_cgroup_uses_v1(const struct iso_cgroup *cgroup, const struct iso_limits *limits,
			enum iso_v1 v1)
{
	return cgroup->mode == ISO_CGROUP_HYBRID && cgroup->site->v1_dir_fds[v1] >= 0 &&
	       (v1 != ISO_V1_CPU || limits->cpu_max_millis != ISO_UNLIMITED);
}

static int make_v1(struct iso_cgroup *cgroup, const struct iso_limits *limits,
		   struct iso_error *err)
{
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++) {
		if (!iso_cgroup_uses_v1(cgroup, limits, v1))
			continue;
		if (make_directory(cgroup->site->v1_dir_fds[v1], cgroup->name, &cgroup->v1_fds[v1],
				   err) < 0) {
			char mount[ISO_V1_MOUNT_SIZE];
			iso_cgroup_v1_mount(v1, mount);
			return iso_error_hint(
				err,
				"a directory below \"%s\" must belong to isorun's user, "
				"who must be in it: delegate that controller, too",
				mount);
		}
	}
	return 0;
}

static int create(struct iso_cgroup *cgroup, struct iso_error *err)
{
	char random[ISO_RANDOM_HEX_SIZE(8)];
	if (iso_random_hex(8, random) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	snprintf(cgroup->name, sizeof(cgroup->name), "isorun-%d-%s", (int)getpid(), random);

	if (make_directory(cgroup->site->dir_fd, cgroup->name, &cgroup->dir_fd, err) < 0)
		return -1;
	/* As long as we live nobody else cleans this up; the lock goes with the descriptor. */
	if (flock(cgroup->dir_fd, LOCK_EX | LOCK_NB) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "lock cgroup \"%s\"",
				     cgroup->name);
	if (faccessat(cgroup->dir_fd, "cgroup.kill", W_OK, AT_EACCESS) < 0)
		return iso_error_set(err, ISO_ERR_UNSUPPORTED, errno,
				     "find cgroup.kill (Linux 5.14 has it)");
	cgroup->events_fd =
		iso_fd_above_stdio(openat(cgroup->dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC));
	if (cgroup->events_fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open cgroup \"%s/cgroup.events\"",
				     cgroup->name);
	return 0;
}

int iso_cgroup_limit(struct iso_cgroup *cgroup, const struct iso_limits *limits,
		     struct iso_error *err)
{
	if (make_v1(cgroup, limits, err) < 0 ||
	    limit_memory(cgroup, limits->memory_max_bytes, err) < 0 ||
	    limit_pids(cgroup, limits->pids_max_count, err) < 0 ||
	    limit_cpu(cgroup, limits->cpu_max_millis, err) < 0)
		return -1;
	return 0;
}

int iso_cgroup_create(const struct iso_cgroup_site *site, struct iso_cgroup *ret_cgroup,
		      struct iso_error *err)
{
	struct iso_cgroup cgroup = {
		.mode = site->mode,
		.site = site,
		.dir_fd = -1,
		.events_fd = -1,
		.oom_fd = -1,
		.v1_fds = {-1, -1, -1},
	};
	if (create(&cgroup, err) < 0) {
		/* The first error is the one to report; nothing can be a member yet. */
		(void)iso_cgroup_remove(&cgroup, iso_clock_mono_ns(), NULL);
		return -1;
	}
	*ret_cgroup = cgroup;
	return 0;
}

int iso_cgroup_kill(const struct iso_cgroup *cgroup)
{
	if (iso_fd_write_control(cgroup->dir_fd, "cgroup.kill", "1") < 0)
		return errno == ENOENT || errno == ENODEV ? 0 : -1; /* vanished: nobody to kill */
	return 0;
}

uint64_t iso_cgroup_count(const struct iso_cgroup *cgroup)
{
	ISO_AUTO_CLOSE int fd = openat(cgroup->dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	uint64_t lines = 0;
	char chunk[4096];
	ssize_t count;
	while (fd >= 0 && (count = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < count; i++)
			lines += chunk[i] == '\n';
	}
	return lines;
}

bool iso_cgroup_is_empty(const struct iso_cgroup *cgroup)
{
	char text[256];
	ssize_t count = pread(cgroup->events_fd, text, sizeof(text) - 1, 0);
	if (count < 0)
		return true; /* ENODEV: the cgroup has vanished, and with it its members */
	text[count] = '\0';
	return iso_cgroup_find_value(text, "populated") != 1;
}

int iso_cgroup_wait_empty(const struct iso_cgroup *cgroup, int64_t deadline_ns)
{
	while (!iso_cgroup_is_empty(cgroup)) {
		int64_t now = iso_clock_mono_ns();
		if (now >= deadline_ns)
			return -1;
		struct pollfd event = {.fd = cgroup->events_fd, .events = POLLPRI};
		(void)poll(&event, 1,
			   iso_deadline_poll_ms(deadline_ns, now)); /* re-read either way */
	}
	return 0;
}

static int remove_below(int parent_fd, const char *name, unsigned int depth);

/* Remove what is below the directory `fd`, as far as it can be. */
static void remove_children(int fd, unsigned int depth)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (dir == NULL) {
		iso_fd_close(copy);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)remove_below(fd, entry->d_name,
					   depth); /* the parent's removal says so */
	}
	(void)closedir(dir);
}

static int remove_below(int parent_fd, const char *name, unsigned int depth)
{
	struct stat st;
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY || depth == DEPTH_MAX)
		return -1;
	ISO_AUTO_CLOSE int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_nlink <= LINKS_WITHOUT_CHILDREN) {
		errno = EBUSY; /* it has members */
		return -1;
	}
	remove_children(fd, depth + 1);
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -1 : 0;
}

int iso_cgroup_remove_directory(int parent_fd, const char *name)
{
	return remove_below(parent_fd, name, 0);
}

int iso_cgroup_try_remove(struct iso_cgroup *cgroup)
{
	int failed_errno = 0;
	if (cgroup->mode == ISO_CGROUP_NONE)
		return 0;
	cgroup->oom_fd = iso_fd_close(cgroup->oom_fd); /* unregisters the event */
	cgroup->events_fd = iso_fd_close(cgroup->events_fd);
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++) {
		if (cgroup->v1_fds[v1] < 0)
			continue;
		if (iso_cgroup_remove_directory(cgroup->site->v1_dir_fds[v1], cgroup->name) < 0)
			failed_errno = errno;
		else
			cgroup->v1_fds[v1] = iso_fd_close(cgroup->v1_fds[v1]);
	}
	/* The anchor goes last (sandbox/cgroup/gc.c). */
	if (failed_errno == 0 && cgroup->dir_fd >= 0 &&
	    iso_cgroup_remove_directory(cgroup->site->dir_fd, cgroup->name) < 0)
		failed_errno = errno;
	if (failed_errno != 0) {
		errno = failed_errno;
		return -1;
	}
	iso_fd_close(cgroup->dir_fd);
	*cgroup = (struct iso_cgroup){0};
	return 0;
}

static void close_all(struct iso_cgroup *cgroup)
{
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++)
		iso_fd_close(cgroup->v1_fds[v1]);
	iso_fd_close(cgroup->dir_fd);
	*cgroup = (struct iso_cgroup){0};
}

int iso_cgroup_remove(struct iso_cgroup *cgroup, int64_t deadline_ns, struct iso_error *err)
{
	while (iso_cgroup_try_remove(cgroup) < 0) {
		if (errno != EBUSY || iso_clock_mono_ns() >= deadline_ns) {
			iso_error_set(err, ISO_ERR_SYSTEM, errno, "remove cgroup \"%s\"",
				      cgroup->name);
			close_all(cgroup);
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = RMDIR_RETRY_NS}, NULL);
	}
	return 0;
}
