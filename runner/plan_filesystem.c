/*
 * The payload's world as an ordered list of operations (spec: "What a payload sees").
 *
 * Tables say what there is; the order of the functions in iso_plan_build_filesystem is the order of
 * the mounts. Directories on the way to a mount are planned explicitly, and only where they come to
 * lie in a tmpfs of ours: below a bind they must exist, because nothing may be created on the host.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/fd.h"
#include "runner/base/path.h"
#include "runner/plan_build.h"

#define MIB		 (UINT64_C(1) << 20)
#define DEFAULT_TMP_SIZE (512 * MIB)
#define DEV_SIZE	 (64 * 1024)
#define RUN_SIZE	 (16 * MIB)
#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))

struct builder {
	const struct iso_request *request;
	const struct iso_named_path *workspace;
	struct iso_plan *plan;
	struct iso_error *err;
};

static struct iso_fsop *add(struct builder *builder, enum iso_fsop_kind kind, const char *target,
			    const char *source)
{
	struct iso_fsop *op = iso_plan_add(builder->plan, kind, target, source);
	if (op == NULL)
		iso_error_nomem(builder->err);
	return op;
}

static int add_dir(struct builder *builder, const char *target, mode_t mode)
{
	struct iso_fsop *op = add(builder, ISO_FSOP_DIR, target, NULL);
	if (op == NULL)
		return -1;
	op->mode = mode;
	return 0;
}

static int add_link(struct builder *builder, const char *target, const char *text)
{
	return add(builder, ISO_FSOP_SYMLINK, target, text) == NULL ? -1 : 0;
}

static int add_file(struct builder *builder, const char *target, const char *content)
{
	struct iso_fsop *op = add(builder, ISO_FSOP_FILE, target, content);
	if (op == NULL)
		return -1;
	op->mode = 0644;
	return 0;
}

static struct iso_fsop *add_tmpfs(struct builder *builder, const char *target, uint64_t size,
				  mode_t mode)
{
	struct iso_fsop *op = add(builder, ISO_FSOP_TMPFS, target, NULL);
	if (op != NULL) {
		op->size_bytes = size;
		op->mode = mode;
	}
	return op;
}

static bool is_mount(enum iso_fsop_kind kind)
{
	return kind == ISO_FSOP_BIND || kind == ISO_FSOP_TMPFS || kind == ISO_FSOP_PROC;
}

/* The mount that `path` comes to lie in, or NULL for the root tmpfs: the last one above it. */
static const struct iso_fsop *covering_mount(const struct iso_plan *plan, const char *path)
{
	for (size_t i = plan->fsop_count; i > 0; i--) {
		const struct iso_fsop *op = &plan->fsops[i - 1];
		if (is_mount(op->kind) && iso_path_is_beneath(path, op->target))
			return op;
	}
	return NULL;
}

/* Whether an operation since the mount that covers it has made `path`. */
static bool is_planned(const struct iso_plan *plan, const char *path)
{
	for (size_t i = plan->fsop_count; i > 0; i--) {
		const struct iso_fsop *op = &plan->fsops[i - 1];
		if (strcmp(op->target, path) == 0)
			return true;
		if (is_mount(op->kind) && iso_path_is_beneath(path, op->target))
			return false;
	}
	return false;
}

/* Plan the directories above `target`, and, with `itself`, that as a directory, too. */
static int add_way(struct builder *builder, const char *target, bool itself)
{
	ISO_AUTO_FREE char *path = strdup(target);
	if (path == NULL)
		return iso_error_nomem(builder->err);
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash == NULL && !itself)
			return 0;
		if (slash != NULL)
			*slash = '\0';
		const struct iso_fsop *mount = covering_mount(builder->plan, path);
		bool ours = mount == NULL || mount->kind == ISO_FSOP_TMPFS;
		if (ours && !is_planned(builder->plan, path) && add_dir(builder, path, 0755) < 0)
			return -1;
		if (slash == NULL)
			return 0;
		*slash = '/';
	}
}

/* Plan something to mount over at `target`, of the kind of the source. */
static int add_mount_point(struct builder *builder, const char *target, bool directory)
{
	if (add_way(builder, target, directory) < 0)
		return -1;
	const struct iso_fsop *mount = covering_mount(builder->plan, target);
	bool ours = mount == NULL || mount->kind == ISO_FSOP_TMPFS;
	if (directory || !ours || is_planned(builder->plan, target))
		return 0;
	return add_file(builder, target, NULL);
}

/* A host directory, file or link at `path` appears as itself, read-only; nothing there: nothing. */
static int add_host_entry(struct builder *builder, int dir_fd, const char *name, const char *path,
			  const char *source)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
						       "look at \"%s\"", source);
	if (S_ISLNK(st.st_mode)) {
		char text[PATH_MAX];
		ssize_t length = readlinkat(dir_fd, name, text, sizeof(text) - 1);
		if (length < 0)
			return iso_error_set(builder->err, ISO_ERR_SYSTEM, errno, "read link \"%s\"",
					     source);
		text[length] = '\0';
		return add_link(builder, path, text);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0; /* a socket, FIFO or device of the host is nothing for a payload */
	if (add_mount_point(builder, path, S_ISDIR(st.st_mode)) < 0)
		return -1;
	struct iso_fsop *op = add(builder, ISO_FSOP_BIND, path, source);
	if (op == NULL)
		return -1;
	op->optional = true; /* gone since: as if it had never been */
	return 0;
}

static int add_system_directories(struct builder *builder)
{
	static const char *const names[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	for (size_t i = 0; i < COUNT(names); i++) {
		if (add_host_entry(builder, AT_FDCWD, names[i], names[i], names[i]) < 0)
			return -1;
	}
	return 0;
}

/*
 * What programs need of /etc and what says nothing about this host and its users. Each is a mount,
 * so the list is short; --ro adds to it.
 */
static int add_curated_etc(struct builder *builder)
{
	static const char *const names[] = {
		"alternatives", "fonts", "ld.so.cache", "localtime", "os-release", "pki", "protocols",
		"services", "sgml", "ssl", "timezone", "xml",
		/* Debian's Java finds its configuration here. */
		"java-8-openjdk", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk",
		"java-25-openjdk",
	};
	if (add_dir(builder, "/etc", 0755) < 0)
		return -1;
	ISO_AUTO_CLOSE int etc_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc_fd < 0)
		return errno == ENOENT ? 0
				       : iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
						       "open \"/etc\"");
	char path[sizeof("/etc/") + NAME_MAX];
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof(path), "/etc/%s", names[i]);
		if (add_host_entry(builder, etc_fd, names[i], path, path) < 0)
			return -1;
	}
	return 0;
}

/* Files that describe the payload's own world; `kind` is FILE, or COVER in a given root. */
static int add_own_etc(struct builder *builder, enum iso_fsop_kind kind)
{
	const struct iso_identity *identity = &builder->plan->identity;
	bool root = identity->inner_uid == 0;
	ISO_AUTO_FREE char *passwd = iso_strf(
		"%s:x:%u:%u::/tmp:/bin/sh\n%snobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
		root ? "root" : "isorun", identity->inner_uid, identity->inner_gid,
		root ? "" : "root:x:0:0::/nonexistent:/usr/sbin/nologin\n");
	bool root_group = identity->inner_gid == 0;
	ISO_AUTO_FREE char *group =
		iso_strf("%s:x:%u:\n%stty:x:5:\nnogroup:x:65534:\n", root_group ? "root" : "isorun",
			 identity->inner_gid, root_group ? "" : "root:x:0:\n");
	ISO_AUTO_FREE char *hosts = iso_strf("127.0.0.1\tlocalhost %s\n::1\tlocalhost\n",
					     builder->plan->hostname);
	ISO_AUTO_FREE char *hostname = iso_strf("%s\n", builder->plan->hostname);
	if (passwd == NULL || group == NULL || hosts == NULL || hostname == NULL)
		return iso_error_nomem(builder->err);
	const struct {
		const char *path, *content;
	} files[] = {
		{"/etc/passwd", passwd},
		{"/etc/group", group},
		{"/etc/hosts", hosts},
		{"/etc/hostname", hostname},
		{"/etc/resolv.conf", "# no network\n"},
		{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"
				       "services: files\nprotocols: files\n"},
	};
	for (size_t i = 0; i < COUNT(files); i++) {
		struct iso_fsop *op = add(builder, kind, files[i].path, files[i].content);
		if (op == NULL)
			return -1;
		op->mode = 0644;
		op->optional = kind == ISO_FSOP_COVER;
	}
	if (kind == ISO_FSOP_COVER)
		return 0;
	return add_link(builder, "/etc/mtab", "/proc/self/mounts");
}

static int add_proc(struct builder *builder)
{
	static const char *const masked[] = {
		"/proc/acpi",	      "/proc/asound",	   "/proc/interrupts", "/proc/kcore",
		"/proc/keys",	      "/proc/latency_stats", "/proc/scsi",     "/proc/sched_debug",
		"/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats",
	};
	static const char *const read_only[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"};
	if (add_dir(builder, "/proc", 0555) < 0 || add(builder, ISO_FSOP_PROC, "/proc", NULL) == NULL)
		return -1;
	for (size_t i = 0; i < COUNT(masked); i++) {
		struct iso_fsop *op = add(builder, ISO_FSOP_MASK, masked[i], NULL);
		if (op == NULL)
			return -1;
		op->optional = true;
	}
	for (size_t i = 0; i < COUNT(read_only); i++) {
		struct iso_fsop *op = add(builder, ISO_FSOP_PROTECT, read_only[i], NULL);
		if (op == NULL)
			return -1;
		op->optional = true;
	}
	return 0;
}

static int add_dev(struct builder *builder)
{
	static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					      "/dev/random", "/dev/urandom", "/dev/tty"};
	static const struct {
		const char *target, *text;
	} links[] = {
		{"/dev/fd", "/proc/self/fd"},	    {"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
		{"/dev/ptmx", "pts/ptmx"},
	};
	if (add_dir(builder, "/dev", 0755) < 0)
		return -1;
	struct iso_fsop *dev = add_tmpfs(builder, "/dev", DEV_SIZE, 0755);
	if (dev == NULL)
		return -1;
	dev->device_files = true;
	for (size_t i = 0; i < COUNT(devices); i++) {
		struct iso_fsop *op = add(builder, ISO_FSOP_DEVICE, devices[i], devices[i]);
		if (op == NULL)
			return -1;
		op->mode = 0666;
	}
	for (size_t i = 0; i < COUNT(links); i++) {
		if (add_link(builder, links[i].target, links[i].text) < 0)
			return -1;
	}
	if (add_dir(builder, "/dev/pts", 0755) < 0 ||
	    add(builder, ISO_FSOP_DEVPTS, "/dev/pts", NULL) == NULL ||
	    add_dir(builder, "/dev/shm", 01777) < 0 ||
	    add_tmpfs(builder, "/dev/shm", DEFAULT_TMP_SIZE, 01777) == NULL)
		return -1;
	return 0;
}

static uint64_t tmp_size(const struct iso_request *request)
{
	return request->tmp_size_bytes == ISO_DEFAULT ? DEFAULT_TMP_SIZE : request->tmp_size_bytes;
}

/* True when the workspace or a mount of the caller lies at or below `path`. */
static bool is_used_by_caller(const struct builder *builder, const char *path)
{
	if (iso_path_is_beneath(builder->workspace->path, path))
		return true;
	for (size_t i = 0; i < builder->request->mount_count; i++) {
		const struct iso_mount *mount = &builder->request->mounts[i];
		const char *target = mount->target != NULL ? mount->target : mount->source;
		if (target != NULL && iso_path_is_beneath(target, path))
			return true;
	}
	return false;
}

static int add_scratch(struct builder *builder)
{
	static const struct {
		const char *target, *text;
	} links[] = {{"/var/run", "/run"}, {"/var/tmp", "/tmp"}};
	if (add_dir(builder, "/tmp", 01777) < 0)
		return -1;
	struct iso_fsop *tmp = add_tmpfs(builder, "/tmp", tmp_size(builder->request), 01777);
	if (tmp == NULL)
		return -1;
	tmp->executable = true; /* configure scripts run what they compile there */
	if (add_dir(builder, "/run", 0755) < 0)
		return -1;
	struct iso_fsop *run = add_tmpfs(builder, "/run", RUN_SIZE, 0755);
	if (run == NULL)
		return -1;
	run->payload_owned = true;
	if (add_way(builder, "/var", true) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(links); i++) {
		if (!is_used_by_caller(builder, links[i].target) &&
		    add_link(builder, links[i].target, links[i].text) < 0)
			return -1;
	}
	return 0;
}

static int add_workspace(struct builder *builder, bool mapped)
{
	const struct iso_named_path *workspace = builder->workspace;
	if (add_mount_point(builder, workspace->path, true) < 0)
		return -1;
	struct iso_fsop *op = add(builder, ISO_FSOP_BIND, workspace->path, workspace->path);
	if (op == NULL)
		return -1;
	op->writable = !builder->request->workspace_read_only;
	op->owner_mapped = mapped;
	op->source_dev = workspace->dev;
	op->source_ino = workspace->ino;
	return 0;
}

static int check_target(struct builder *builder, const char *target)
{
	static const char *const closed[] = {"/proc", "/dev"};
	if (!iso_path_is_normal(target))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "mount at \"%s\": an absolute path without \"..\" is needed",
				     target);
	bool refused = strcmp(target, "/") == 0;
	for (size_t i = 0; i < COUNT(closed); i++)
		refused |= iso_path_is_beneath(target, closed[i]) &&
			   !iso_path_is_beneath(target, "/dev/shm");
	if (refused)
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "mount at \"%s\": the sandbox needs that place itself", target);
	return 0;
}

static int add_caller_bind(struct builder *builder, const struct iso_mount *mount)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path source = {.fd = -1};
	if (iso_named_path_open(mount->source, "the mount source", &source, builder->err) < 0)
		return -1;
	ISO_AUTO_FREE char *normal =
		iso_path_normalise(mount->target != NULL ? mount->target : source.path);
	const char *target = normal != NULL ? normal : mount->target;
	if (check_target(builder, target) < 0)
		return -1;
	if (!S_ISDIR(source.mode) && !S_ISREG(source.mode) && !S_ISSOCK(source.mode))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "mount \"%s\": only directories, files and sockets can be bound",
				     source.path);
	if (add_mount_point(builder, target, S_ISDIR(source.mode)) < 0)
		return -1;
	struct iso_fsop *op = add(builder, ISO_FSOP_BIND, target, source.path);
	if (op == NULL)
		return -1;
	op->writable = mount->kind == ISO_MOUNT_RW;
	op->owner_mapped = op->writable &&
			   builder->plan->identity.kind == ISO_IDENTITY_MAPPED;
	op->source_dev = source.dev;
	op->source_ino = source.ino;
	return 0;
}

static int add_caller_tmpfs(struct builder *builder, const struct iso_mount *mount)
{
	ISO_AUTO_FREE char *target = iso_path_normalise(mount->target);
	if (check_target(builder, target != NULL ? target : mount->target) < 0)
		return -1;
	if (iso_path_is_beneath(builder->plan->workspace, target))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "mount a tmpfs at \"%s\": it would cover the workspace", target);
	if (add_mount_point(builder, target, true) < 0)
		return -1;
	uint64_t size = mount->size_bytes != 0 ? mount->size_bytes : tmp_size(builder->request);
	struct iso_fsop *op = add_tmpfs(builder, target, size, 0755);
	if (op == NULL)
		return -1;
	op->executable = true;
	op->payload_owned = true;
	return 0;
}

static int add_caller_mask(struct builder *builder, const struct iso_mount *mount)
{
	ISO_AUTO_FREE char *target = iso_path_normalise(mount->target);
	if (target == NULL || strcmp(target, "/") == 0)
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "hide \"%s\": an absolute path without \"..\" is needed",
				     mount->target);
	if (iso_path_is_beneath(builder->plan->workspace, target))
		return iso_error_set(builder->err, ISO_ERR_INVALID, 0,
				     "hide \"%s\": it would hide the workspace", target);
	struct iso_fsop *op = add(builder, ISO_FSOP_MASK, target, NULL);
	return op == NULL ? -1 : 0;
}

static int add_caller_mounts(struct builder *builder)
{
	for (size_t i = 0; i < builder->request->mount_count; i++) {
		const struct iso_mount *mount = &builder->request->mounts[i];
		int result = -1;
		switch (mount->kind) {
		case ISO_MOUNT_RO:
		case ISO_MOUNT_RW:
			result = add_caller_bind(builder, mount);
			break;
		case ISO_MOUNT_TMPFS:
			result = add_caller_tmpfs(builder, mount);
			break;
		case ISO_MOUNT_HIDE:
			result = add_caller_mask(builder, mount);
			break;
		case ISO_MOUNT_UNSET:
			iso_error_set(builder->err, ISO_ERR_INVALID, 0, "mount %zu: no kind", i);
			break;
		}
		if (result < 0)
			return -1;
	}
	return 0;
}

/*
 * A given root appears entry by entry, read-only, so that our own places (/proc, /dev, /tmp, /run)
 * are ours whatever it holds there, links included. A directory that lies on the way to a mount of
 * the caller is taken apart the same way, because it takes a new entry.
 */
static int add_rootfs_level(struct builder *builder, int dir_fd, const char *host_path,
			    const char *inner_path)
{
	static const char *const own[] = {"/proc", "/dev", "/sys", "/tmp", "/run"};
	DIR *dir = fdopendir(dir_fd);
	if (dir == NULL) {
		iso_fd_close(dir_fd);
		return iso_error_nomem(builder->err);
	}
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		ISO_AUTO_FREE char *inner = iso_strf("%s/%s", inner_path, name);
		ISO_AUTO_FREE char *source = iso_strf("%s/%s", host_path, name);
		if (inner == NULL || source == NULL) {
			result = iso_error_nomem(builder->err);
			break;
		}
		bool skip = is_planned(builder->plan, inner);
		for (size_t i = 0; i < COUNT(own); i++)
			skip |= strcmp(inner, own[i]) == 0;
		if (skip)
			continue;
		struct stat st;
		if (is_used_by_caller(builder, inner) &&
		    fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
			int below = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below < 0)
				result = iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
						       "open \"%s\"", source);
			else if (add_dir(builder, inner, 0755) < 0)
				result = -1, iso_fd_close(below);
			else
				result = add_rootfs_level(builder, below, source, inner);
		} else {
			result = add_host_entry(builder, dirfd(dir), name, inner, source);
		}
	}
	closedir(dir);
	return result;
}

static int add_rootfs(struct builder *builder)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path root = {.fd = -1};
	if (iso_named_path_open(builder->request->rootfs, "the root file system", &root,
				builder->err) < 0)
		return -1;
	int dir_fd = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	if (dir_fd < 0 || fstat(dir_fd, &st) < 0 || st.st_ino != root.ino || st.st_dev != root.dev) {
		iso_error_set(builder->err, ISO_ERR_INVALID, dir_fd < 0 ? errno : ESTALE,
			      "open the root file system \"%s\"", root.path);
		iso_fd_close(dir_fd);
		return -1;
	}
	return add_rootfs_level(builder, dir_fd, strcmp(root.path, "/") == 0 ? "" : root.path, "");
}

static int add_root_content(struct builder *builder)
{
	if (builder->request->rootfs != NULL)
		return add_rootfs(builder);
	if (add_system_directories(builder) < 0 || add_curated_etc(builder) < 0)
		return -1;
	return add_own_etc(builder, ISO_FSOP_FILE);
}

int iso_plan_build_filesystem(const struct iso_request *request,
			      const struct iso_named_path *workspace, bool workspace_mapped,
			      struct iso_plan *plan, struct iso_error *err)
{
	struct builder builder = {request, workspace, plan, err};
	if (add_root_content(&builder) < 0 || add_proc(&builder) < 0 || add_dev(&builder) < 0 ||
	    add_scratch(&builder) < 0 || add_workspace(&builder, workspace_mapped) < 0 ||
	    add_caller_mounts(&builder) < 0)
		return -1;
	if (request->rootfs != NULL && add_own_etc(&builder, ISO_FSOP_COVER) < 0)
		return -1;
	/* What only we fill is closed last. */
	if (add(&builder, ISO_FSOP_READONLY, "/dev", NULL) == NULL ||
	    add(&builder, ISO_FSOP_READONLY, "/", NULL) == NULL)
		return -1;
	return 0;
}
