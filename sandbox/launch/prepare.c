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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/patient.h"
#include "sandbox/launch/idmap.h"
#include "sandbox/launch/message.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/net/loopback.h"

/* mount(2) flags; <sys/mount.h> clashes with <linux/mount.h>. */
#define FLAG_NOSUID 2UL
#define FLAG_NODEV  4UL
#define FLAG_NOEXEC 8UL

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
	ISO_AUTO_CLOSE int fd = iso_patient_open(op->source, O_NOFOLLOW, NULL, ret_st);
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "bind \"%s\"", op->source);
	if (op->by_caller && (ret_st->st_dev != op->source_dev || ret_st->st_ino != op->source_ino))
		return iso_error_set(err, ISO_ERR_SYSTEM, 0,
				     "bind \"%s\": it was replaced since the plan was made",
				     op->source);
	return ISO_TAKE_FD(fd);
}

/*
 * Clone a bind whose owner appears as the payload: only the host's root can, so not the child.
 *
 * A payload with capabilities has them over every file whose owner has an id in its user namespace,
 * so for that one other owners than the place's own stay nobody.
 */
static int clone_mapped(const struct iso_prepared *prepared, const struct iso_fsop *op, int *ret_fd,
			struct iso_error *err)
{
	const struct iso_identity *identity = &prepared->ids->identity;
	struct stat st;
	ISO_AUTO_CLOSE int path_fd = open_meant(op, &st, err);
	if (path_fd < 0)
		return -1;
	const struct iso_idmap_key key = {
		.disk_uid = st.st_uid,
		.disk_gid = st.st_gid,
		.first = prepared->ids->block.first,
		.slot_uid = iso_id_slot(identity->inner_uid),
		.slot_gid = iso_id_slot(identity->inner_gid),
		.whole = prepared->world->capabilities == 0,
	};
	struct iso_idmap_cache *idmaps = &prepared->launcher->idmaps;
	struct iso_idmap *map;
	if (iso_idmap_get(idmaps, &key, &map, err) < 0)
		return -1;
	int tree_fd = iso_idmap_clone_tree(path_fd, bind_attributes(op), map->userns.fd);
	int os_errno = errno;
	iso_idmap_put(idmaps, map);
	/* What is only read can be read as it is, too. */
	if (tree_fd < 0 && os_errno == EINVAL && !op->writable)
		tree_fd = iso_idmap_clone_tree(path_fd, bind_attributes(op), -1);
	if (tree_fd < 0) {
		iso_error_set(err, ISO_ERR_UNSUPPORTED, os_errno, "id-map \"%s\"", op->source);
		if (os_errno == ENOSYS || os_errno == EPERM)
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
static char *mount_options(const struct iso_identity *identity, const struct iso_fsop *op,
			   bool *ret_failed)
{
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
	const struct iso_identity *identity = &prepared->ids->identity;
	const struct iso_fsop *op = &prepared->world->fsops[index];
	struct iso_child_op *out = &prepared->ops[index];
	bool failed = false;
	prepared->op_options[index] = mount_options(identity, op, &failed);
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
		.uid = identity->host_uid,
		.gid = identity->host_gid,
		.give_away = op->payload_owned && identity->kind != ISO_IDENTITY_CALLER,
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
	if (!iso_template_find(&prepared->launcher->templates, child, &prepared->template,
			       &is_common))
		return 0;
	child->template_fd = prepared->template->namespace_fd;
	size_t count = 0;
	for (size_t i = 0; i < child->op_count; i++) {
		if (is_common[i])
			continue;
		struct iso_child_op *op = &prepared->ops[count++];
		*op = prepared->ops[i];
		if (op != &prepared->ops[i])
			prepared->ops[i].tree_fd = -1;
		if (op->kind == ISO_FSOP_BIND && op->tree_fd < 0 &&
		    clone_plain(&prepared->world->fsops[i], &op->tree_fd, err) < 0)
			return -1;
	}
	child->op_count = count;
	return 0;
}

static int prepare_ops(struct iso_prepared *prepared, struct iso_error *err)
{
	size_t count = prepared->world->fsop_count;
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

/* Send the init its configuration and, to be held as long as it lives, the lock of its host ids. */
static int send_config(const struct iso_prepared *prepared)
{
	const int lock_fd = prepared->ids->block.lock_fd;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(lock_fd))];
	} control = {.space = {0}};
	struct iovec data = {prepared->config, prepared->config_size};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	if (lock_fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_len = CMSG_LEN(sizeof(lock_fd));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), &lock_fd, sizeof(lock_fd));
	}
	return sendmsg(prepared->control_fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int iso_prepared_release(struct iso_prepared *prepared, struct iso_error *err)
{
	if (send_config(prepared) < 0 && errno != EPIPE &&
	    errno != ECONNRESET) /* a child that has ended has said why */
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

static int prepare_init_argv(struct iso_prepared *prepared, const struct iso_command *command,
			     struct iso_error *err)
{
	if (iso_strv_add(&prepared->init_argv, "isorun-init") < 0)
		return iso_error_nomem(err);
	for (char **item = command->argv.items; *item != NULL; item++) {
		if (iso_strv_add(&prepared->init_argv, *item) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

/* Which v1 hierarchies the child joins, and where. */
static int prepare_joining(struct iso_prepared *prepared, const struct iso_cgroup *cgroup,
			   struct iso_error *err)
{
	struct iso_child *child = &prepared->child;
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++)
		child->join_dirs[v1] =
			cgroup != NULL && iso_cgroup_uses_v1(cgroup, &prepared->world->limits, v1)
				? cgroup->site->v1_dir_fds[v1]
				: -1;
	if (cgroup != NULL && (prepared->join_path = iso_strf("%s/tasks", cgroup->name)) == NULL)
		return iso_error_nomem(err);
	child->join_path = prepared->join_path;
	return 0;
}

static void prepare_descriptors(struct iso_prepared *prepared, const int stdio[3])
{
	struct iso_child *child = &prepared->child;
	for (int fd = 0; fd < 3; fd++)
		child->descriptors[fd] = stdio[fd];
	child->descriptors[ISO_INIT_FD_CONTROL] = prepared->child_control_fd;
	child->descriptors[ISO_INIT_FD_PARENT] = prepared->self_pidfd;
	child->init_fd = prepared->launcher->init_fd;
}

/* All of its block, or its one host id. */
static void prepare_maps(struct iso_prepared *prepared)
{
	const struct iso_identity *identity = &prepared->ids->identity;
	const uint32_t first = prepared->ids->block.first;
	if (identity->kind == ISO_IDENTITY_MAPPED) {
		iso_id_map_inside(first, identity->inner_uid, prepared->uid_map);
		iso_id_map_inside(first, identity->inner_gid, prepared->gid_map);
		return;
	}
	snprintf(prepared->uid_map, sizeof(prepared->uid_map), "%u %u 1", identity->inner_uid,
		 identity->host_uid);
	snprintf(prepared->gid_map, sizeof(prepared->gid_map), "%u %u 1", identity->inner_gid,
		 identity->host_gid);
}

static int prepare(struct iso_prepared *prepared, const struct iso_launch_order *order,
		   struct iso_error *err)
{
	const struct iso_plan *plan = order->plan;
	static char *const no_environment[] = {NULL};
	const struct iso_identity *identity = &prepared->ids->identity;
	struct iso_child *child = &prepared->child;

	child->at = &prepared->child_at;
	child->own_user_namespace = identity->kind == ISO_IDENTITY_CALLER;
	if (open_control(prepared, err) < 0 ||
	    prepare_init_argv(prepared, &plan->command, err) < 0 ||
	    prepare_ops(prepared, err) < 0 || use_template(prepared, err) < 0 ||
	    prepare_joining(prepared, order->cgroup, err) < 0 ||
	    iso_message_compose(plan, identity, &prepared->config, &prepared->config_size, err) < 0)
		return -1;
	prepared->stack = aligned_alloc(16, ISO_CHILD_STACK_SIZE);
	if (prepared->stack == NULL)
		return iso_error_nomem(err);
	prepare_maps(prepared);
	child->uid_map = prepared->uid_map;
	child->gid_map = prepared->gid_map;
	child->hostname = plan->world.hostname;
	child->hostname_length = strlen(plan->world.hostname);
	child->loopback_message = iso_loopback_message;
	child->loopback_length = iso_loopback_message_size;
	child->init_argv = prepared->init_argv.items;
	child->env =
		plan->command.env.items != NULL ? plan->command.env.items : (char **)no_environment;
	prepare_descriptors(prepared, order->stdio);
	return 0;
}

int iso_payload_ids_take(struct iso_launcher *launcher, const struct iso_identity *planned,
			 struct iso_payload_ids *ret_ids, struct iso_error *err)
{
	struct iso_payload_ids ids = {*planned, ISO_ID_BLOCK_NONE};
	if (planned->kind == ISO_IDENTITY_MAPPED) {
		const uint32_t slot = iso_id_slot(planned->inner_uid);
		if (iso_host_ids_take(&launcher->host_ids, slot, &ids.block, err) < 0)
			return -1;
		ids.identity.host_uid = ids.block.first + slot;
		ids.identity.host_gid = ids.block.first + iso_id_slot(planned->inner_gid);
	}
	*ret_ids = ids;
	return 0;
}

void iso_payload_ids_give_back(struct iso_launcher *launcher, struct iso_payload_ids *ids,
			       bool all_gone)
{
	iso_host_ids_give_back(&launcher->host_ids, &ids->block, all_gone);
}

int iso_prepare(struct iso_launcher *launcher, const struct iso_launch_order *order,
		struct iso_prepared *ret_prepared, struct iso_error *err)
{
	*ret_prepared = (struct iso_prepared){
		.launcher = launcher,
		.world = &order->plan->world,
		.ids = order->ids,
		.control_fd = -1,
		.child_control_fd = -1,
		.self_pidfd = -1,
	};
	if (prepare(ret_prepared, order, err) < 0) {
		iso_prepared_done(ret_prepared);
		return -1;
	}
	return 0;
}

void iso_prepared_done(struct iso_prepared *prepared)
{
	if (prepared->world == NULL)
		return;
	for (size_t i = 0; prepared->ops != NULL && i < prepared->world->fsop_count; i++) {
		iso_fd_close(prepared->ops[i].tree_fd);
		if (prepared->op_options != NULL)
			free(prepared->op_options[i]);
	}
	if (prepared->template != NULL)
		iso_template_put(&prepared->launcher->templates, prepared->template);
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
