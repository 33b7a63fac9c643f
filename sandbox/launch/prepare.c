/*
 * Everything that may allocate, format or fail with a message happens here, before the clone. The
 * payload's share of the host's privileges is decided here too: writable binds are cloned and
 * id-mapped by this process, which may do so, and handed to the child as detached mounts.
 */
#include "sandbox/launch/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "sandbox/filter/embedded.h"
#include "sandbox/launch/idmap.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/net/loopback.h"

/* mount(2) flags; <sys/mount.h> clashes with <linux/mount.h>. */
#define FLAG_NOSUID 2UL
#define FLAG_NODEV  4UL
#define FLAG_NOEXEC 8UL

/* A core file of one byte cannot be, and one byte also stops core_pattern's pipes (core(5)). */
#define CORE_LIMIT 1

static const struct {
	const char *path;
	unsigned int major, minor;
} devices[] = {
	{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
	{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static uint64_t device_number(const char *path)
{
	for (size_t i = 0; i < ISO_COUNT(devices); i++) {
		if (strcmp(devices[i].path, path) == 0)
			return makedev(devices[i].major, devices[i].minor);
	}
	return 0;
}

static uint64_t bind_attributes(const struct iso_fsop *op)
{
	return MOUNT_ATTR_NOSUID | (op->writable ? 0 : MOUNT_ATTR_RDONLY) |
	       (op->device_files ? 0 : MOUNT_ATTR_NODEV);
}

static int open_meant(const struct iso_fsop *op, struct stat *ret_st, struct iso_error *err)
{
	ISO_AUTO_CLOSE int fd = open(op->source, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "bind \"%s\"", op->source);
	if (op->by_caller && (ret_st->st_dev != op->source_dev || ret_st->st_ino != op->source_ino))
		return iso_error_set(err, ISO_ERR_SYSTEM, 0,
				     "bind \"%s\": it was replaced since the plan was made",
				     op->source);
	return ISO_TAKE_FD(fd);
}

/* Clone a bind whose owner appears as the payload: only the host's root can, so not the child. */
static int clone_mapped(const struct iso_prepared *prepared, const struct iso_fsop *op, int *ret_fd,
			struct iso_error *err)
{
	const struct iso_identity *identity = &prepared->plan->identity;
	struct stat st;
	ISO_AUTO_CLOSE int path_fd = open_meant(op, &st, err);
	if (path_fd < 0)
		return -1;
	int userns_fd;
	if (iso_idmap_get(prepared->idmaps, st.st_uid, st.st_gid, identity->host_uid,
			  identity->host_gid, &userns_fd, err) < 0)
		return -1;
	int tree_fd = iso_idmap_clone_tree(path_fd, bind_attributes(op), userns_fd);
	if (tree_fd < 0) {
		iso_error_set(err, ISO_ERR_UNSUPPORTED, errno, "id-map \"%s\"", op->source);
		if (err != NULL && (err->os_errno == ENOSYS || err->os_errno == EPERM))
			return iso_error_hint(err, "isorun doctor says which system call is "
						   "refused here");
		return iso_error_hint(err,
				      "its file system, or one mounted below it, cannot be "
				      "id-mapped: use one that can (ext4, xfs, btrfs), give the "
				      "directory to an ordinary user, or bind it read-only");
	}
	*ret_fd = tree_fd;
	return 0;
}

/* Mount data for the operations that take some; NULL with `*ret_failed` when out of memory. */
static char *mount_options(const struct iso_plan *plan, const struct iso_fsop *op, bool *ret_failed)
{
	const struct iso_identity *identity = &plan->identity;
	bool caller = identity->kind == ISO_IDENTITY_CALLER;
	char *options = NULL;
	if (op->kind == ISO_FSOP_TMPFS) {
		/* Ids are read in the mounter's user namespace: the payload's own for a caller. */
		uint32_t uid = caller ? identity->inner_uid : identity->host_uid;
		uint32_t gid = caller ? identity->inner_gid : identity->host_gid;
		if (op->payload_owned)
			options = iso_strf("size=%" PRIu64 ",mode=%o,uid=%u,gid=%u", op->size_bytes,
					   op->mode, uid, gid);
		else
			options = iso_strf("size=%" PRIu64 ",mode=%o", op->size_bytes, op->mode);
	} else if (op->kind == ISO_FSOP_DEVPTS) {
		/* The tty group exists for a host's root only. */
		options = iso_strf("newinstance,ptmxmode=0666,mode=%s",
				   caller ? "0600" : "0620,gid=5");
	} else {
		return NULL;
	}
	if (options == NULL)
		*ret_failed = true;
	return options;
}

static unsigned long mount_flags(const struct iso_fsop *op)
{
	switch (op->kind) {
	case ISO_FSOP_TMPFS:
		return FLAG_NOSUID | (op->device_files ? 0 : FLAG_NODEV) |
		       (op->executable ? 0 : FLAG_NOEXEC);
	case ISO_FSOP_PROC:
		return FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC;
	case ISO_FSOP_DEVPTS:
		return FLAG_NOSUID | FLAG_NOEXEC;
	default:
		return 0;
	}
}

static int prepare_op(struct iso_prepared *prepared, size_t index, struct iso_error *err)
{
	const struct iso_plan *plan = prepared->plan;
	const struct iso_fsop *op = &plan->fsops[index];
	struct iso_child_op *out = &prepared->ops[index];
	bool failed = false;
	prepared->op_options[index] = mount_options(plan, op, &failed);
	if (failed)
		return iso_error_nomem(err);
	*out = (struct iso_child_op){
		.kind = op->kind,
		.target = op->target + 1, /* absolute in the plan, relative to the root here */
		.source = op->source,
		.source_length = op->source != NULL ? strlen(op->source) : 0,
		.options = prepared->op_options[index],
		.tree_fd = -1,
		.attributes = op->kind == ISO_FSOP_BIND ? bind_attributes(op) : 0,
		.flags = mount_flags(op),
		.mode = op->mode,
		.device = op->kind == ISO_FSOP_DEVICE ? device_number(op->source) : 0,
		.uid = plan->identity.host_uid,
		.gid = plan->identity.host_gid,
		.give_away = op->payload_owned && plan->identity.kind != ISO_IDENTITY_CALLER,
		.optional = op->optional,
		.by_caller = op->by_caller,
		.closed_later = op->kind == ISO_FSOP_TMPFS && op->device_files,
		.source_dev = op->source_dev,
		.source_ino = op->source_ino,
		.index = (uint32_t)index,
	};
	if (op->kind == ISO_FSOP_BIND && op->owner_mapped)
		return clone_mapped(prepared, op, &out->tree_fd, err);
	return 0;
}

/* Clone a bind as it is: in a copy of a template the child cannot reach the host's paths. */
static int clone_plain(const struct iso_fsop *op, int *ret_fd, struct iso_error *err)
{
	struct stat st;
	ISO_AUTO_CLOSE int path_fd = open_meant(op, &st, err);
	if (path_fd < 0)
		return -1;
	*ret_fd = iso_idmap_clone_tree(path_fd, bind_attributes(op), -1);
	return *ret_fd >= 0 ? 0
			    : iso_error_set(err, ISO_ERR_SYSTEM, errno, "bind \"%s\"", op->source);
}

/* Leave to the child what a template, if there is one, does not have. */
static int use_template(struct iso_prepared *prepared, struct iso_error *err)
{
	struct iso_child *child = &prepared->child;
	ISO_AUTO_FREE bool *is_common = NULL;
	child->template_fd = -1;
	if (!iso_template_find(prepared->templates, child, &child->template_fd, &is_common))
		return 0;
	size_t count = 0;
	for (size_t i = 0; i < child->op_count; i++) {
		if (is_common[i])
			continue;
		struct iso_child_op *op = &prepared->ops[count++];
		*op = prepared->ops[i];
		if (op != &prepared->ops[i])
			prepared->ops[i].tree_fd = -1;
		if (op->kind == ISO_FSOP_BIND && op->tree_fd < 0 &&
		    clone_plain(&prepared->plan->fsops[i], &op->tree_fd, err) < 0)
			return -1;
	}
	child->op_count = count;
	return 0;
}

static int prepare_ops(struct iso_prepared *prepared, struct iso_error *err)
{
	size_t count = prepared->plan->fsop_count;
	prepared->ops = calloc(count + 1, sizeof(*prepared->ops));
	prepared->op_options = calloc(count + 1, sizeof(*prepared->op_options));
	if (prepared->ops == NULL || prepared->op_options == NULL)
		return iso_error_nomem(err);
	for (size_t i = 0; i < count; i++)
		prepared->ops[i].tree_fd = -1;
	prepared->child.ops = prepared->ops;
	prepared->child.op_count = count;
	for (size_t i = 0; i < count; i++) {
		if (prepare_op(prepared, i, err) < 0)
			return -1;
	}
	return 0;
}

static void add_rlimit(struct iso_init_config *config, int resource, uint64_t soft, uint64_t hard)
{
	config->rlimits[config->rlimit_count++] = (struct iso_init_rlimit){
		.resource = (uint32_t)resource,
		.soft = soft,
		.hard = hard,
	};
}

static void fill_rlimits(const struct iso_limits *limits, struct iso_init_config *config)
{
	add_rlimit(config, RLIMIT_CORE, CORE_LIMIT, CORE_LIMIT);
	add_rlimit(config, RLIMIT_NOFILE, limits->nofile_soft_count, limits->nofile_hard_count);
	if (limits->fsize_max_bytes != ISO_UNLIMITED)
		add_rlimit(config, RLIMIT_FSIZE, limits->fsize_max_bytes, limits->fsize_max_bytes);
}

/* Where the payload may write: what Landlock repeats of the mounts. */
static bool is_writable_place(const struct iso_fsop *op)
{
	return (op->kind == ISO_FSOP_BIND && op->writable) ||
	       (op->kind == ISO_FSOP_TMPFS && !op->device_files);
}

/* The strings behind the filter, gathered so that their size is known first. */
static int gather_strings(const struct iso_plan *plan, struct iso_strv *ret_strings,
			  struct iso_error *err)
{
	const char *search = iso_strv_find_variable(&plan->env, "PATH");
	search = search == NULL ? "" : search + strlen("PATH=");
	if (iso_strv_add(ret_strings, plan->workdir) < 0 || iso_strv_add(ret_strings, search) < 0)
		return iso_error_nomem(err);
	for (size_t i = 0; i < plan->fsop_count; i++) {
		if (is_writable_place(&plan->fsops[i]) &&
		    iso_strv_add(ret_strings, plan->fsops[i].target) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static size_t strings_size(const struct iso_strv *strings)
{
	size_t size = 0;
	for (size_t i = 0; i < strings->count; i++)
		size += strlen(strings->items[i]) + 1;
	return size;
}

static int compose_config(struct iso_prepared *prepared, struct iso_error *err)
{
	const struct iso_plan *plan = prepared->plan;
	ISO_CLEANUP(iso_strv_done) struct iso_strv strings = {0};
	if (gather_strings(plan, &strings, err) < 0)
		return -1;
	size_t filter_size = iso_default_filter_count * sizeof(iso_default_filter[0]);
	size_t custom_count = plan->seccomp != NULL ? plan->seccomp->count : 0;
	size_t custom_size = custom_count * sizeof(iso_default_filter[0]);
	size_t strings_offset = sizeof(struct iso_init_config) + filter_size + custom_size;
	size_t size = strings_offset + strings_size(&strings);
	if (size > ISO_INIT_CONFIG_MAX)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "prepare the init: working directory, PATH and the writable "
				     "paths are too long together");
	char *message = calloc(1, size);
	if (message == NULL)
		return iso_error_nomem(err);
	prepared->config = message;
	prepared->config_size = size;
	size_t path_offset = strings_offset + strlen(strings.items[0]) + 1;
	struct iso_init_config *config = (struct iso_init_config *)message;
	*config = (struct iso_init_config){
		.tag = ISO_INIT_CONFIG_TAG,
		.size = (uint32_t)size,
		.make_user_namespace = plan->identity.kind != ISO_IDENTITY_CALLER,
		.inner_uid = plan->identity.inner_uid,
		.inner_gid = plan->identity.inner_gid,
		.host_uid = plan->identity.host_uid,
		.host_gid = plan->identity.host_gid,
		.filter_count = (uint32_t)iso_default_filter_count,
		.capabilities = plan->capabilities,
		.custom_count = (uint32_t)custom_count,
		.workdir_offset = (uint32_t)strings_offset,
		.path_offset = (uint32_t)path_offset,
		.tty_rows = plan->tty ? plan->tty_rows : 0,
		.tty_columns = plan->tty ? plan->tty_columns : 0,
		.landlock_abi = plan->landlock_abi,
		.writable_offset = (uint32_t)(path_offset + strlen(strings.items[1]) + 1),
		.writable_count = (uint32_t)strings.count - 2,
	};
	fill_rlimits(&plan->limits, config);
	memcpy(message + sizeof(*config), iso_default_filter, filter_size);
	if (custom_count > 0)
		memcpy(message + sizeof(*config) + filter_size, plan->seccomp->instructions,
		       custom_size);
	char *cursor = message + strings_offset;
	for (size_t i = 0; i < strings.count; i++)
		cursor = stpcpy(cursor, strings.items[i]) + 1;
	return 0;
}

int iso_prepared_release(struct iso_prepared *prepared, struct iso_error *err)
{
	if (send(prepared->control_fd, prepared->config, prepared->config_size, MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET) /* a child that has ended has said why */
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "configure the init");
	return 0;
}

static int open_control(struct iso_prepared *prepared, struct iso_error *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create the control pair");
	prepared->control_fd = iso_fd_above_stdio(pair[0]);
	prepared->child_control_fd = iso_fd_above_stdio(pair[1]);
	prepared->self_pidfd = iso_fd_above_stdio((int)syscall(SYS_pidfd_open, getpid(), 0));
	if (prepared->control_fd < 0 || prepared->child_control_fd < 0 || prepared->self_pidfd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open a pidfd of isorun itself");
	return 0;
}

static int prepare_init_argv(struct iso_prepared *prepared, struct iso_error *err)
{
	if (iso_strv_add(&prepared->init_argv, "isorun-init") < 0)
		return iso_error_nomem(err);
	for (char **item = prepared->plan->argv.items; *item != NULL; item++) {
		if (iso_strv_add(&prepared->init_argv, *item) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static int prepare(struct iso_prepared *prepared, const struct iso_cgroup *cgroup,
		   const struct iso_launch_fds *fds, struct iso_error *err)
{
	const struct iso_plan *plan = prepared->plan;
	const struct iso_identity *identity = &plan->identity;
	static char *const no_environment[] = {NULL};

	prepared->child.own_user_namespace = identity->kind == ISO_IDENTITY_CALLER;
	if (open_control(prepared, err) < 0 || prepare_init_argv(prepared, err) < 0 ||
	    prepare_ops(prepared, err) < 0 || use_template(prepared, err) < 0 ||
	    compose_config(prepared, err) < 0)
		return -1;
	prepared->stack = aligned_alloc(16, ISO_CHILD_STACK_SIZE);
	if (prepared->stack == NULL)
		return iso_error_nomem(err);
	snprintf(prepared->uid_map, sizeof(prepared->uid_map), "%u %u 1", identity->inner_uid,
		 identity->host_uid);
	snprintf(prepared->gid_map, sizeof(prepared->gid_map), "%u %u 1", identity->inner_gid,
		 identity->host_gid);

	struct iso_child *child = &prepared->child;
	child->uid_map = prepared->uid_map;
	child->gid_map = prepared->gid_map;
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++)
		child->join_dirs[v1] =
			cgroup != NULL && iso_cgroup_uses_v1(cgroup, &plan->limits, v1)
				? cgroup->site->v1_dir_fds[v1]
				: -1;
	if (cgroup != NULL && (prepared->join_path = iso_strf("%s/tasks", cgroup->name)) == NULL)
		return iso_error_nomem(err);
	child->join_path = prepared->join_path;
	child->hostname = plan->hostname;
	child->hostname_length = strlen(plan->hostname);
	child->loopback_message = iso_loopback_message;
	child->loopback_length = iso_loopback_message_size;
	child->descriptors[STDIN_FILENO] = fds->stdin_fd;
	child->descriptors[STDOUT_FILENO] = fds->stdout_fd;
	child->descriptors[STDERR_FILENO] = fds->stderr_fd;
	child->descriptors[ISO_INIT_FD_CONTROL] = prepared->child_control_fd;
	child->descriptors[ISO_INIT_FD_PARENT] = prepared->self_pidfd;
	child->init_fd = fds->init_fd;
	child->init_argv = prepared->init_argv.items;
	child->env = plan->env.items != NULL ? plan->env.items : (char **)no_environment;
	return 0;
}

int iso_prepare(const struct iso_plan *plan, const struct iso_cgroup *cgroup,
		const struct iso_launch_fds *fds, struct iso_idmap_cache *idmaps,
		struct iso_template_cache *templates, struct iso_prepared *ret_prepared,
		struct iso_error *err)
{
	*ret_prepared = (struct iso_prepared){
		.plan = plan,
		.idmaps = idmaps,
		.templates = templates,
		.control_fd = -1,
		.child_control_fd = -1,
		.self_pidfd = -1,
	};
	if (prepare(ret_prepared, cgroup, fds, err) < 0) {
		iso_prepared_done(ret_prepared);
		return -1;
	}
	return 0;
}

void iso_prepared_done(struct iso_prepared *prepared)
{
	if (prepared->plan == NULL)
		return;
	for (size_t i = 0; prepared->ops != NULL && i < prepared->plan->fsop_count; i++) {
		iso_fd_close(prepared->ops[i].tree_fd);
		if (prepared->op_options != NULL)
			free(prepared->op_options[i]);
	}
	free(prepared->ops);
	free(prepared->op_options);
	iso_strv_done(&prepared->init_argv);
	free(prepared->join_path);
	free(prepared->config);
	free(prepared->stack);
	iso_fd_close(prepared->control_fd);
	iso_fd_close(prepared->child_control_fd);
	iso_fd_close(prepared->self_pidfd);
	*prepared = (struct iso_prepared){0};
}
