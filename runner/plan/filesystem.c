/*
 * The payload's world as an ordered list of operations ("What a payload sees"). Tables say what
 * there is; the order of the calls in iso_plan_build_filesystem is the order of the mounts.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/plan/builder.h"
#include "runner/plan/places.h"

#define SHM_SIZE (UINT64_C(512) << 20)
#define DEV_SIZE (UINT64_C(64) << 10)
#define RUN_SIZE (UINT64_C(16) << 20)

static int add_system_directories(struct iso_world_builder *builder)
{
	static const char *const names[] = {"/usr",   "/bin",	"/sbin",  "/lib",
					    "/lib32", "/lib64", "/libx32"};
	for (size_t i = 0; i < ISO_COUNT(names); i++) {
		if (iso_builder_add_host_entry(builder, AT_FDCWD, names[i], names[i], names[i]) < 0)
			return -1;
	}
	return 0;
}

/*
 * What programs need of /etc and what says nothing about this host and its users. Each is a mount,
 * so the list is short; --ro adds to it.
 */
static int add_curated_etc(struct iso_world_builder *builder)
{
	static const char *const names[] = {
		"alternatives",
		"fonts",
		"ld.so.cache",
		"localtime",
		"os-release",
		"pki",
		"protocols",
		"services",
		"sgml",
		"ssl",
		"timezone",
		"xml",
		/* Debian's Java finds its configuration here. */
		"java-8-openjdk",
		"java-11-openjdk",
		"java-17-openjdk",
		"java-21-openjdk",
		"java-25-openjdk",
	};
	if (iso_builder_add_dir(builder, "/etc", 0755) < 0)
		return -1;
	ISO_AUTO_CLOSE int etc_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc_fd < 0)
		return errno == ENOENT ? 0
				       : iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
						       "open \"/etc\"");
	char path[sizeof("/etc/") + NAME_MAX];
	for (size_t i = 0; i < ISO_COUNT(names); i++) {
		snprintf(path, sizeof(path), "/etc/%s", names[i]);
		if (iso_builder_add_host_entry(builder, etc_fd, names[i], path, path) < 0)
			return -1;
	}
	return 0;
}

/* Files that describe the payload's own world; `kind` is FILE, or COVER in a given root. */
static int add_own_etc(struct iso_world_builder *builder, enum iso_fsop_kind kind)
{
	const struct iso_identity *identity = &builder->world->identity;
	bool root = identity->inner_uid == 0;
	ISO_AUTO_FREE char *passwd =
		iso_strf("%s:x:%u:%u::/tmp:/bin/sh\n%snobody:x:65534:65534::/nonexistent:/usr/sbin/"
			 "nologin\n",
			 root ? "root" : "isorun", identity->inner_uid, identity->inner_gid,
			 root ? "" : "root:x:0:0::/nonexistent:/usr/sbin/nologin\n");
	bool root_group = identity->inner_gid == 0;
	ISO_AUTO_FREE char *group =
		iso_strf("%s:x:%u:\n%stty:x:5:\nnogroup:x:65534:\n", root_group ? "root" : "isorun",
			 identity->inner_gid, root_group ? "" : "root:x:0:\n");
	ISO_AUTO_FREE char *hosts =
		iso_strf("127.0.0.1\tlocalhost %s\n::1\tlocalhost\n", builder->world->hostname);
	ISO_AUTO_FREE char *hostname = iso_strf("%s\n", builder->world->hostname);
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
	for (size_t i = 0; i < ISO_COUNT(files); i++) {
		struct iso_fsop *op =
			iso_builder_add(builder, kind, files[i].path, files[i].content);
		if (op == NULL)
			return -1;
		op->mode = 0644;
		op->optional = kind == ISO_FSOP_COVER;
	}
	if (kind == ISO_FSOP_COVER)
		return 0;
	return iso_builder_add_link(builder, "/etc/mtab", "/proc/self/mounts");
}

static int add_proc(struct iso_world_builder *builder)
{
	static const char *const masked[] = {
		"/proc/acpi",	    "/proc/asound",	 "/proc/interrupts",
		"/proc/kcore",	    "/proc/keys",	 "/proc/latency_stats",
		"/proc/scsi",	    "/proc/sched_debug", "/proc/sysrq-trigger",
		"/proc/timer_list", "/proc/timer_stats",
	};
	static const char *const read_only[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"};
	if (iso_builder_add_dir(builder, "/proc", 0555) < 0 ||
	    iso_builder_add(builder, ISO_FSOP_PROC, "/proc", NULL) == NULL)
		return -1;
	for (size_t i = 0; i < ISO_COUNT(masked); i++) {
		struct iso_fsop *op = iso_builder_add(builder, ISO_FSOP_MASK, masked[i], NULL);
		if (op == NULL)
			return -1;
		op->optional = true;
	}
	for (size_t i = 0; i < ISO_COUNT(read_only); i++) {
		struct iso_fsop *op =
			iso_builder_add(builder, ISO_FSOP_PROTECT, read_only[i], NULL);
		if (op == NULL)
			return -1;
		op->optional = true;
	}
	return 0;
}

static int add_dev(struct iso_world_builder *builder)
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
	if (iso_builder_add_dir(builder, "/dev", 0755) < 0)
		return -1;
	struct iso_fsop *dev = iso_builder_add_tmpfs(builder, "/dev", DEV_SIZE, 0755);
	if (dev == NULL)
		return -1;
	dev->device_files = true;
	for (size_t i = 0; i < ISO_COUNT(devices); i++) {
		struct iso_fsop *op =
			iso_builder_add(builder, ISO_FSOP_DEVICE, devices[i], devices[i]);
		if (op == NULL)
			return -1;
		op->mode = 0666;
	}
	for (size_t i = 0; i < ISO_COUNT(links); i++) {
		if (iso_builder_add_link(builder, links[i].target, links[i].text) < 0)
			return -1;
	}
	if (iso_builder_add_dir(builder, "/dev/pts", 0755) < 0 ||
	    iso_builder_add(builder, ISO_FSOP_DEVPTS, "/dev/pts", NULL) == NULL ||
	    iso_builder_add_dir(builder, "/dev/shm", 01777) < 0 ||
	    iso_builder_add_tmpfs(builder, "/dev/shm", SHM_SIZE, 01777) == NULL)
		return -1;
	return 0;
}

static int add_scratch(struct iso_world_builder *builder)
{
	static const struct {
		const char *target, *text;
	} links[] = {{"/var/run", "/run"}, {"/var/tmp", "/tmp"}};
	if (iso_builder_add_dir(builder, "/tmp", 01777) < 0)
		return -1;
	struct iso_fsop *tmp = iso_builder_add_tmpfs(builder, "/tmp",
						     iso_builder_tmp_size(builder->request), 01777);
	if (tmp == NULL)
		return -1;
	tmp->executable = true; /* configure scripts run what they compile there */
	if (iso_builder_add_dir(builder, "/run", 0755) < 0)
		return -1;
	struct iso_fsop *run = iso_builder_add_tmpfs(builder, "/run", RUN_SIZE, 0755);
	if (run == NULL)
		return -1;
	run->payload_owned = true;
	if (iso_builder_add_way(builder, "/var", true) < 0)
		return -1;
	for (size_t i = 0; i < ISO_COUNT(links); i++) {
		if (!iso_builder_is_used_by_caller(builder, links[i].target) &&
		    iso_builder_add_link(builder, links[i].target, links[i].text) < 0)
			return -1;
	}
	return 0;
}

static int add_workspace(struct iso_world_builder *builder, bool mapped)
{
	const struct iso_named_path *workspace = iso_survey_workspace(builder->survey);
	if (iso_builder_add_mount_point(builder, workspace->path, true) < 0)
		return -1;
	struct iso_fsop *op =
		iso_builder_add(builder, ISO_FSOP_BIND, workspace->path, workspace->path);
	if (op == NULL)
		return -1;
	op->writable = !builder->request->workspace_read_only;
	op->owner_mapped = mapped;
	op->by_caller = true;
	op->source_dev = workspace->dev;
	op->source_ino = workspace->ino;
	return 0;
}

/*
 * A given root appears entry by entry, read-only, so that our own places (/proc, /dev, /tmp, /run)
 * are ours whatever it holds there, links included. A directory that lies on the way to a mount of
 * the caller is taken apart the same way, because it takes a new entry.
 */
static int add_rootfs_level(struct iso_world_builder *builder, int dir_fd, const char *host_path,
			    const char *inner_path)
{
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
		if (iso_builder_is_planned(builder->world, inner) ||
		    iso_place_replaces_rootfs(inner))
			continue;
		struct stat st;
		if (iso_builder_is_used_by_caller(builder, inner) &&
		    fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode)) {
			int below = openat(dirfd(dir), name,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below < 0)
				result = iso_error_set(builder->err, ISO_ERR_SYSTEM, errno,
						       "open \"%s\"", source);
			else if (iso_builder_add_dir(builder, inner, 0755) < 0)
				result = -1, iso_fd_close(below);
			else
				result = add_rootfs_level(builder, below, source, inner);
		} else {
			result = iso_builder_add_host_entry(builder, dirfd(dir), name, inner,
							    source);
		}
	}
	closedir(dir);
	return result;
}

static int add_rootfs(struct iso_world_builder *builder)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path root = {.fd = -1};
	if (iso_writable_open_beside(&builder->survey->writable, builder->request->rootfs,
				     "the root file system", &root, builder->err) < 0)
		return -1;
	int dir_fd = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	if (dir_fd < 0 || fstat(dir_fd, &st) < 0 || st.st_ino != root.ino ||
	    st.st_dev != root.dev) {
		iso_error_set(builder->err, ISO_ERR_INVALID, dir_fd < 0 ? errno : ESTALE,
			      "open the root file system \"%s\"", root.path);
		iso_fd_close(dir_fd);
		return -1;
	}
	return add_rootfs_level(builder, dir_fd, strcmp(root.path, "/") == 0 ? "" : root.path, "");
}

static int add_root_content(struct iso_world_builder *builder)
{
	if (builder->request->rootfs != NULL)
		return add_rootfs(builder);
	if (add_system_directories(builder) < 0 || add_curated_etc(builder) < 0)
		return -1;
	return add_own_etc(builder, ISO_FSOP_FILE);
}

int iso_plan_build_filesystem(const struct iso_request *request, const struct iso_survey *survey,
			      struct iso_world *world, struct iso_error *err)
{
	struct iso_world_builder builder = {request, survey, world, err};
	if (add_root_content(&builder) < 0 || add_proc(&builder) < 0 || add_dev(&builder) < 0 ||
	    add_scratch(&builder) < 0 || add_workspace(&builder, survey->can_be_mapped) < 0 ||
	    iso_builder_add_caller_mounts(&builder) < 0)
		return -1;
	if (request->rootfs != NULL && add_own_etc(&builder, ISO_FSOP_COVER) < 0)
		return -1;
	/* What only we fill is closed last. */
	if (iso_builder_add(&builder, ISO_FSOP_READONLY, "/dev", NULL) == NULL ||
	    iso_builder_add(&builder, ISO_FSOP_READONLY, "/", NULL) == NULL)
		return -1;
	return 0;
}
