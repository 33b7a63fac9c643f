/*
 * The child's story: join, separate, build the file system, change the root, hand over to the init.
 *
 * It runs with all signals blocked, privileges still there, as PID 1 of its PID namespace. Raw
 * system calls only: libc's wrappers would write the errno of the thread that cloned us.
 *
 * The new root is a tmpfs on top of "/", reached through its own descriptor. Host paths keep
 * resolving in the old tree until the pivot, and every target is resolved beneath the new root
 * without following symbolic links, so that nothing a workspace holds can redirect a mount.
 */
#include "sandbox/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sandbox/rawcall.h"

/* <sys/mount.h> and <linux/mount.h> of some versions exclude each other. */
#define MOUNT_RECURSIVE 0x4000UL
#define MOUNT_PRIVATE	0x40000UL
#define UMOUNT_DETACH	2
#define TREE_RECURSIVE	0x8000 /* AT_RECURSIVE */

#define MASK_DIRECTORY	".mask.d"
#define MASK_FILE	".mask.f"
#define COVER_FILE	".cover"
#define NO_INDEX	0

static long raw_open(const char *path, long flags)
{
	return iso_raw4(SYS_openat, AT_FDCWD, ISO_ARG(path), flags | O_CLOEXEC, 0);
}

static void raw_close(long fd)
{
	(void)iso_raw1(SYS_close, fd);
}

static void fail(const struct iso_child *child, enum iso_step step, size_t index, long result)
	__attribute__((noreturn));

static void fail(const struct iso_child *child, enum iso_step step, size_t index, long result)
{
	struct iso_record record = {
		.type = ISO_RECORD_FAILED,
		.step = step,
		.index = (uint32_t)index,
		.value = (int32_t)-result,
	};
	/* The source of what becomes ISO_INIT_FD_CONTROL is open until the very end. */
	(void)iso_raw6(SYS_sendto, child->descriptors[ISO_INIT_FD_CONTROL], ISO_ARG(&record),
		       sizeof(record), MSG_NOSIGNAL, 0, 0);
	for (;;)
		(void)iso_raw1(SYS_exit_group, 1);
}

static void check(const struct iso_child *child, enum iso_step step, long result)
{
	if (result < 0)
		fail(child, step, NO_INDEX, result);
}

static size_t length_of(const char *text)
{
	size_t length = 0;
	while (text[length] != '\0')
		length++;
	return length;
}

static long write_file(const char *path, const char *text)
{
	long fd = raw_open(path, O_WRONLY);
	if (fd < 0)
		return fd;
	long result = iso_raw3(SYS_write, fd, ISO_ARG(text), (long)length_of(text));
	raw_close(fd);
	return result;
}

/* An ordinary user maps itself, which needs no privilege once setgroups is given up. */
static void map_ids(const struct iso_child *child)
{
	check(child, ISO_STEP_ID_MAP, write_file("/proc/self/setgroups", "deny"));
	check(child, ISO_STEP_ID_MAP, write_file("/proc/self/uid_map", child->uid_map));
	check(child, ISO_STEP_ID_MAP, write_file("/proc/self/gid_map", child->gid_map));
}

/*
 * The exec of the init takes all capabilities from a user that is not 0 inside. It needs one more
 * time CAP_SETPCAP, to empty the bounding set for good.
 */
static void keep_setpcap(const struct iso_child *child)
{
	const enum iso_step step = ISO_STEP_CAPABILITIES;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	check(child, step, iso_raw2(SYS_capget, ISO_ARG(&header), ISO_ARG(data)));
	data[0].inheritable = 1U << CAP_SETPCAP;
	data[1].inheritable = 0;
	check(child, step, iso_raw2(SYS_capset, ISO_ARG(&header), ISO_ARG(data)));
	check(child, step,
	      iso_raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETPCAP, 0, 0));
}

/*
 * The v2 cgroup was joined by clone itself. The cgroup namespace comes after that, so that its root
 * is the run's own cgroup and not the caller's.
 */
static void join_cgroup(const struct iso_child *child)
{
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++) {
		if (child->join_fds[v1] >= 0)
			check(child, ISO_STEP_CGROUP_JOIN,
			      iso_raw3(SYS_write, child->join_fds[v1], ISO_ARG("0"), 1));
	}
	check(child, ISO_STEP_CGROUP_NAMESPACE, iso_raw1(SYS_unshare, CLONE_NEWCGROUP));
}

/* Mount an empty tmpfs over "/" and return its descriptor. */
static long mount_root(const struct iso_child *child)
{
	const enum iso_step step = ISO_STEP_ROOT;
	long context = iso_raw2(SYS_fsopen, ISO_ARG("tmpfs"), FSOPEN_CLOEXEC);
	check(child, step, context);
	check(child, step,
	      iso_raw5(SYS_fsconfig, context, FSCONFIG_SET_STRING, ISO_ARG("mode"), ISO_ARG("0755"),
		       0));
	check(child, step,
	      iso_raw5(SYS_fsconfig, context, FSCONFIG_SET_STRING, ISO_ARG("size"), ISO_ARG("16m"),
		       0));
	check(child, step, iso_raw5(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0));
	long root = iso_raw3(SYS_fsmount, context, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	check(child, step, root);
	raw_close(context);
	check(child, step,
	      iso_raw5(SYS_move_mount, root, ISO_ARG(""), AT_FDCWD, ISO_ARG("/"),
		       MOVE_MOUNT_F_EMPTY_PATH));
	check(child, step,
	      iso_raw1(SYS_fchdir, root)); /* mount(2) takes relative targets from here */
	if (child->has_masks) {
		check(child, step, iso_raw3(SYS_mkdirat, root, ISO_ARG(MASK_DIRECTORY), 0));
		check(child, step, iso_raw4(SYS_mknodat, root, ISO_ARG(MASK_FILE), S_IFREG, 0));
	}
	return root;
}

/* A path descriptor of `target` beneath the root, with no symbolic link on the way. */
static long open_target(long root, const char *target)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	return iso_raw4(SYS_openat2, root, ISO_ARG(target), ISO_ARG(&how), sizeof(how));
}

/* Attach the detached mount `tree` at `target`; `tree` is closed. */
static long attach(long root, long tree, const char *target)
{
	long place = open_target(root, target);
	long result = place < 0 ? place
				: iso_raw5(SYS_move_mount, tree, ISO_ARG(""), place, ISO_ARG(""),
					   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	if (place >= 0)
		raw_close(place);
	raw_close(tree);
	return result;
}

static long clone_tree(long dir, const char *path, uint64_t attributes)
{
	long tree = iso_raw3(SYS_open_tree, dir, ISO_ARG(path),
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | TREE_RECURSIVE |
				     (*path == '\0' ? AT_EMPTY_PATH : 0));
	if (tree < 0)
		return tree;
	const struct mount_attr attr = {.attr_set = attributes};
	long result = iso_raw5(SYS_mount_setattr, tree, ISO_ARG(""), AT_EMPTY_PATH | TREE_RECURSIVE,
			       ISO_ARG(&attr), sizeof(attr));
	if (result < 0) {
		raw_close(tree);
		return result;
	}
	return tree;
}

/* The object that was cloned must be the one the plan meant: paths can be swapped meanwhile. */
static long verify_source(long tree, const struct iso_child_op *op)
{
	struct stat st;
	if (op->source_ino == 0)
		return 0;
	long result = iso_raw2(SYS_fstat, tree, ISO_ARG(&st));
	if (result == 0 && (st.st_dev != op->source_dev || st.st_ino != op->source_ino))
		result = -ESTALE;
	return result;
}

static long do_bind(long root, const struct iso_child_op *op)
{
	long tree = op->tree_fd;
	if (tree < 0) {
		tree = clone_tree(AT_FDCWD, op->source, op->attributes);
		if (tree == -ENOENT && op->optional)
			return 0;
		if (tree < 0)
			return tree;
		long result = verify_source(tree, op);
		if (result < 0) {
			raw_close(tree);
			return result;
		}
	}
	return attach(root, tree, op->target);
}

static long do_mask(long root, const struct iso_child_op *op)
{
	struct stat st;
	long result = iso_raw4(SYS_newfstatat, root, ISO_ARG(op->target), ISO_ARG(&st),
			       AT_SYMLINK_NOFOLLOW);
	if (result == -ENOENT && op->optional)
		return 0;
	if (result < 0)
		return result;
	const char *mask = S_ISDIR(st.st_mode) ? MASK_DIRECTORY : MASK_FILE;
	long tree = clone_tree(root, mask,
			       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				       MOUNT_ATTR_NOEXEC);
	return tree < 0 ? tree : attach(root, tree, op->target);
}

static long do_protect(long root, const struct iso_child_op *op)
{
	long place = open_target(root, op->target);
	if (place < 0)
		return place == -ENOENT && op->optional ? 0 : place;
	long tree = clone_tree(place, "", MOUNT_ATTR_RDONLY);
	raw_close(place);
	return tree < 0 ? tree : attach(root, tree, op->target);
}

static long do_readonly(long root, const struct iso_child_op *op)
{
	const struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	return iso_raw5(SYS_mount_setattr, root, ISO_ARG(op->target),
			*op->target == '\0' ? AT_EMPTY_PATH : 0, ISO_ARG(&attr), sizeof(attr));
}

/* Directories on the way to a target are planned by name; what already exists is as good. */
static long do_dir(long root, const struct iso_child_op *op)
{
	long result = iso_raw3(SYS_mkdirat, root, ISO_ARG(op->target), op->mode);
	if (result == -EEXIST)
		return 0;
	if (result == 0 && op->give_away)
		result = iso_raw5(SYS_fchownat, root, ISO_ARG(op->target), op->uid, op->gid,
				  AT_SYMLINK_NOFOLLOW);
	return result;
}

static long create_file(long root, const char *name, const struct iso_child_op *op)
{
	long fd = iso_raw4(SYS_openat, root, ISO_ARG(name),
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, op->mode);
	if (fd < 0)
		return fd;
	long result = 0;
	if (op->source_length > 0)
		result = iso_raw3(SYS_write, fd, ISO_ARG(op->source), (long)op->source_length);
	raw_close(fd);
	return result < 0 ? result : 0;
}

/* Cover an existing file with one of ours, which has no name of its own afterwards. */
static long do_cover(long root, const struct iso_child_op *op)
{
	long place = open_target(root, op->target);
	if (place < 0)
		return place == -ENOENT && op->optional ? 0 : place;
	raw_close(place);
	long result = create_file(root, COVER_FILE, op);
	if (result < 0)
		return result;
	long tree = clone_tree(root, COVER_FILE,
			       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				       MOUNT_ATTR_NOEXEC);
	result = tree < 0 ? tree : attach(root, tree, op->target); /* while it still has its name */
	(void)iso_raw3(SYS_unlinkat, root, ISO_ARG(COVER_FILE), 0);
	return result;
}

/* In a user namespace of its own the child cannot make device nodes: it binds the host's. */
static long do_device(const struct iso_child *child, long root, const struct iso_child_op *op)
{
	if (!child->own_user_namespace)
		return iso_raw4(SYS_mknodat, root, ISO_ARG(op->target), S_IFCHR | op->mode,
				(long)op->device);
	struct stat st;
	long result = iso_raw4(SYS_mknodat, root, ISO_ARG(op->target), S_IFREG, 0);
	if (result < 0)
		return result;
	long tree = clone_tree(AT_FDCWD, op->source, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return tree;
	result = iso_raw2(SYS_fstat, tree, ISO_ARG(&st));
	if (result == 0 && (!S_ISCHR(st.st_mode) || st.st_rdev != op->device))
		result = -ENODEV; /* something else stands where the device should be */
	if (result < 0) {
		raw_close(tree);
		return result;
	}
	return attach(root, tree, op->target);
}

static long do_mount(const char *type, const struct iso_child_op *op)
{
	return iso_raw5(SYS_mount, ISO_ARG(type), ISO_ARG(op->target), ISO_ARG(type),
			(long)op->flags, ISO_ARG(op->options));
}

static long execute(const struct iso_child *child, long root, const struct iso_child_op *op)
{
	switch (op->kind) {
	case ISO_FSOP_DIR:
		return do_dir(root, op);
	case ISO_FSOP_SYMLINK:
		return iso_raw3(SYS_symlinkat, ISO_ARG(op->source), root, ISO_ARG(op->target));
	case ISO_FSOP_FILE:
		return create_file(root, op->target, op);
	case ISO_FSOP_DEVICE:
		return do_device(child, root, op);
	case ISO_FSOP_TMPFS:
		return do_mount("tmpfs", op);
	case ISO_FSOP_PROC:
		return do_mount("proc", op);
	case ISO_FSOP_DEVPTS:
		return do_mount("devpts", op);
	case ISO_FSOP_BIND:
		return do_bind(root, op);
	case ISO_FSOP_MASK:
		return do_mask(root, op);
	case ISO_FSOP_COVER:
		return do_cover(root, op);
	case ISO_FSOP_PROTECT:
		return do_protect(root, op);
	case ISO_FSOP_READONLY:
		return do_readonly(root, op);
	case ISO_FSOP_UNSET:
		break;
	}
	return -EINVAL;
}

static void build_filesystem(const struct iso_child *child, long root)
{
	for (size_t i = 0; i < child->op_count; i++) {
		if (child->has_masks && child->ops[i].kind == ISO_FSOP_READONLY &&
		    child->ops[i].target[0] == '\0') {
			/* The last moment to take the masks' sources away; their mounts stay. */
			(void)iso_raw3(SYS_unlinkat, root, ISO_ARG(MASK_DIRECTORY), AT_REMOVEDIR);
			(void)iso_raw3(SYS_unlinkat, root, ISO_ARG(MASK_FILE), 0);
		}
		long result = execute(child, root, &child->ops[i]);
		if (result < 0)
			fail(child, ISO_STEP_FSOP, i, result);
	}
}

/* Send the prepared "interface 1 up" and read the kernel's acknowledgement. */
static void loopback_up(const struct iso_child *child)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256]; /* the kernel echoes the request */
	} answer;
	const enum iso_step step = ISO_STEP_LOOPBACK;
	long fd = iso_raw3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	check(child, step, fd);
	check(child, step,
	      iso_raw6(SYS_sendto, fd, ISO_ARG(child->loopback_message),
		       (long)child->loopback_length, 0, 0, 0));
	long length = iso_raw6(SYS_recvfrom, fd, ISO_ARG(&answer), sizeof(answer), 0, 0, 0);
	check(child, step, length);
	if ((size_t)length < sizeof(answer.header) + sizeof(answer.error) ||
	    answer.header.nlmsg_type != NLMSG_ERROR)
		fail(child, step, NO_INDEX, -EPROTO);
	check(child, step, answer.error.error);
	raw_close(fd);
}

/* After this the old tree is gone: what is still open of it is closed at the init's exec. */
static void change_root(const struct iso_child *child, long root)
{
	const enum iso_step step = ISO_STEP_PIVOT;
	check(child, step, iso_raw1(SYS_fchdir, root));
	check(child, step, iso_raw2(SYS_pivot_root, ISO_ARG("."), ISO_ARG(".")));
	check(child, step, iso_raw2(SYS_umount2, ISO_ARG("."), UMOUNT_DETACH));
	check(child, step, iso_raw1(SYS_chdir, ISO_ARG("/")));
}

/*
 * A parallel move of the descriptors to 0, 1, 2, …: a number that is still needed as a source is
 * first moved out of the way. Everything above closes at exec.
 */
static void arrange_descriptors(struct iso_child *child, int *sources)
{
	const enum iso_step step = ISO_STEP_DESCRIPTORS;
	for (int target = 0; target < ISO_INIT_FD_COUNT; target++) {
		for (int later = target + 1; later < ISO_INIT_FD_COUNT; later++) {
			if (sources[later] != target)
				continue;
			long moved =
				iso_raw3(SYS_fcntl, target, F_DUPFD_CLOEXEC, ISO_INIT_FD_COUNT);
			check(child, step, moved);
			sources[later] = (int)moved;
		}
		if (child->init_fd == target) {
			long moved =
				iso_raw3(SYS_fcntl, target, F_DUPFD_CLOEXEC, ISO_INIT_FD_COUNT);
			check(child, step, moved);
			child->init_fd = (int)moved;
		}
		if (sources[target] == target)
			check(child, step, iso_raw3(SYS_fcntl, target, F_SETFD, 0));
		else
			check(child, step, iso_raw3(SYS_dup3, sources[target], target, 0));
	}
	check(child, step, iso_raw3(SYS_close_range, ISO_INIT_FD_COUNT, ~0U, CLOSE_RANGE_CLOEXEC));
}

void iso_child_main(const void *argument)
{
	struct iso_child child = *(const struct iso_child *)argument; /* its own copy to work on */

	(void)iso_raw1(SYS_umask, 0); /* modes in the plan are meant as they stand */
	if (child.own_user_namespace)
		map_ids(&child);
	if (child.has_cgroup)
		join_cgroup(&child);
	else
		check(&child, ISO_STEP_CGROUP_NAMESPACE, iso_raw1(SYS_unshare, CLONE_NEWCGROUP));

	check(&child, ISO_STEP_PROPAGATION,
	      iso_raw5(SYS_mount, 0, ISO_ARG("/"), 0, MOUNT_RECURSIVE | MOUNT_PRIVATE, 0));
	long root = mount_root(&child);
	build_filesystem(&child, root);
	check(&child, ISO_STEP_HOSTNAME,
	      iso_raw2(SYS_sethostname, ISO_ARG(child.hostname), (long)child.hostname_length));
	loopback_up(&child);
	change_root(&child, root);
	if (child.own_user_namespace)
		keep_setpcap(&child);

	arrange_descriptors(&child, child.descriptors);
	child.descriptors[ISO_INIT_FD_CONTROL] = ISO_INIT_FD_CONTROL;
	long result = iso_raw5(SYS_execveat, child.init_fd, ISO_ARG(""), ISO_ARG(child.init_argv),
			       ISO_ARG(child.env), AT_EMPTY_PATH);
	fail(&child, ISO_STEP_EXEC_INIT, NO_INDEX, result);
}
