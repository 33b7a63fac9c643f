/*
 * The payload's file system, operation by operation.
 *
 * The new root is a tmpfs on top of "/", reached through its own descriptor. Host paths keep
 * resolving in the old tree until the pivot, and every target is resolved beneath the new root
 * without following symbolic links, so that nothing a workspace holds can redirect a mount. Where a
 * template has most of it already, the root is a copy of that one's, and no host path is needed.
 */
#include <errno.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "sandbox/child/internal.h"

/* <sys/mount.h> and <linux/mount.h> of some versions exclude each other. */
#define MOUNT_RECURSIVE 0x4000UL
#define MOUNT_PRIVATE	0x40000UL
#define UMOUNT_DETACH	2
#define TREE_RECURSIVE	0x8000 /* AT_RECURSIVE */

/* Under the place where the procfs will be: nobody sees them, and masks can be cloned from them. */
#define MASK_PLACE     "proc"
#define MASK_DIRECTORY "mask.d"
#define MASK_FILE      "mask.f"
#define COVER_FILE     ".cover"

/* What operations work on. */
struct world {
	long root;
	long masks; /* MASK_PLACE as the root itself has it */
};

/* Descriptors of the root and of the masks; mount(2) takes relative targets from the root. */
static struct world enter_world(const struct iso_child *child, long root)
{
	const enum iso_step step = ISO_STEP_ROOT;
	struct world world = {.root = root};
	iso_child_check(child, step, iso_raw1(SYS_fchdir, root));
	world.masks = iso_child_open(MASK_PLACE, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	iso_child_check(child, step, world.masks);
	return world;
}

/* Mount an empty tmpfs over "/". */
static struct world mount_root(const struct iso_child *child)
{
	const enum iso_step step = ISO_STEP_ROOT;
	long context = iso_raw2(SYS_fsopen, ISO_ARG("tmpfs"), FSOPEN_CLOEXEC);
	iso_child_check(child, step, context);
	iso_child_check(child, step,
			iso_raw5(SYS_fsconfig, context, FSCONFIG_SET_STRING, ISO_ARG("mode"),
				 ISO_ARG("0755"), 0));
	iso_child_check(child, step,
			iso_raw5(SYS_fsconfig, context, FSCONFIG_SET_STRING, ISO_ARG("size"),
				 ISO_ARG("16m"), 0));
	iso_child_check(child, step, iso_raw5(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0));
	long root = iso_raw3(SYS_fsmount, context, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	iso_child_check(child, step, root);
	iso_child_close(context);
	iso_child_check(child, step,
			iso_raw5(SYS_move_mount, root, ISO_ARG(""), AT_FDCWD, ISO_ARG("/"),
				 MOVE_MOUNT_F_EMPTY_PATH));
	iso_child_check(child, step, iso_raw3(SYS_mkdirat, root, ISO_ARG(MASK_PLACE), 0555));
	struct world world = enter_world(child, root);
	iso_child_check(child, step,
			iso_raw3(SYS_mkdirat, world.masks, ISO_ARG(MASK_DIRECTORY), 0));
	iso_child_check(child, step,
			iso_raw4(SYS_mknodat, world.masks, ISO_ARG(MASK_FILE), S_IFREG, 0));
	return world;
}

/* A copy of the template's mounts; its root is ours from here on. */
static struct world copy_template(const struct iso_child *child)
{
	const enum iso_step step = ISO_STEP_TEMPLATE;
	iso_child_check(child, step, iso_raw2(SYS_setns, child->template_fd, CLONE_NEWNS));
	iso_child_check(child, step, iso_raw1(SYS_unshare, CLONE_NEWNS));
	long root = iso_child_open("/", O_PATH | O_DIRECTORY);
	iso_child_check(child, step, root);
	return enter_world(child, root);
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
		iso_child_close(place);
	iso_child_close(tree);
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
		iso_child_close(tree);
		return result;
	}
	return tree;
}

/* The object that was cloned must be the one the plan meant: paths can be swapped meanwhile. */
static long verify_source(long tree, const struct iso_child_op *op)
{
	struct stat st;
	if (!op->by_caller)
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
			iso_child_close(tree);
			return result;
		}
	}
	return attach(root, tree, op->target);
}

static long do_mask(const struct world *world, const struct iso_child_op *op)
{
	struct stat st;
	long result = iso_raw4(SYS_newfstatat, world->root, ISO_ARG(op->target), ISO_ARG(&st),
			       AT_SYMLINK_NOFOLLOW);
	if (result == -ENOENT && op->optional)
		return 0;
	if (result < 0)
		return result;
	const char *mask = S_ISDIR(st.st_mode) ? MASK_DIRECTORY : MASK_FILE;
	long tree = clone_tree(world->masks, mask,
			       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				       MOUNT_ATTR_NOEXEC);
	return tree < 0 ? tree : attach(world->root, tree, op->target);
}

static long do_protect(long root, const struct iso_child_op *op)
{
	long place = open_target(root, op->target);
	if (place < 0)
		return place == -ENOENT && op->optional ? 0 : place;
	long tree = clone_tree(place, "", MOUNT_ATTR_RDONLY);
	iso_child_close(place);
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
	iso_child_close(fd);
	return result < 0 ? result : 0;
}

/* Cover an existing file with one of ours, which has no name of its own afterwards. */
static long do_cover(long root, const struct iso_child_op *op)
{
	long place = open_target(root, op->target);
	if (place < 0)
		return place == -ENOENT && op->optional ? 0 : place;
	iso_child_close(place);
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
		iso_child_close(tree);
		return result;
	}
	return attach(root, tree, op->target);
}

static long do_mount(const char *type, const struct iso_child_op *op)
{
	return iso_raw5(SYS_mount, ISO_ARG(type), ISO_ARG(op->target), ISO_ARG(type),
			(long)op->flags, ISO_ARG(op->options));
}

static long execute(const struct iso_child *child, const struct world *world,
		    const struct iso_child_op *op)
{
	const long root = world->root;
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
		return do_mask(world, op);
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

static void build_filesystem(const struct iso_child *child, const struct world *world)
{
	for (size_t i = 0; i < child->op_count; i++) {
		iso_child_at(child, ISO_STEP_FSOP, child->ops[i].index);
		long result = execute(child, world, &child->ops[i]);
		if (result < 0)
			iso_child_fail(child, ISO_STEP_FSOP, child->ops[i].index, result);
	}
}

long iso_child_build_world(const struct iso_child *child)
{
	iso_child_check(
		child, ISO_STEP_PROPAGATION,
		iso_raw5(SYS_mount, 0, ISO_ARG("/"), 0, MOUNT_RECURSIVE | MOUNT_PRIVATE, 0));
	struct world world = mount_root(child);
	build_filesystem(child, &world);
	return world.root;
}

long iso_child_copy_world(const struct iso_child *child)
{
	struct world world = copy_template(child);
	build_filesystem(child, &world);
	return world.root;
}

/* After this the old tree is gone: what is still open of it is closed at the init's exec. */
void iso_child_leave_host(const struct iso_child *child, long root)
{
	const enum iso_step step = ISO_STEP_PIVOT;
	iso_child_check(child, step, iso_raw1(SYS_fchdir, root));
	iso_child_check(child, step, iso_raw2(SYS_pivot_root, ISO_ARG("."), ISO_ARG(".")));
	iso_child_check(child, step, iso_raw2(SYS_umount2, ISO_ARG("."), UMOUNT_DETACH));
	iso_child_check(child, step, iso_raw1(SYS_chdir, ISO_ARG("/")));
}
