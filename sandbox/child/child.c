/*
 * The child's story: join, separate, build the file system, change the root, hand over to the init.
 *
 * It runs with all signals blocked, privileges still there, as PID 1 of its PID namespace. Raw
 * system calls only: libc's wrappers would write the errno of the thread that cloned us.
 */

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <poll.h>

#include "sandbox/child/internal.h"

static size_t length_of(const char *text)
{
	size_t length = 0;
	while (text[length] != '\0')
		length++;
	return length;
}

static long write_file(const char *path, const char *text)
{
	long fd = iso_child_open(path, O_WRONLY);
	if (fd < 0)
		return fd;
	long result = iso_raw3(SYS_write, fd, ISO_ARG(text), (long)length_of(text));
	iso_child_close(fd);
	return result;
}

/* An ordinary user maps itself, which needs no privilege once setgroups is given up. */
static void map_ids(const struct iso_child *child)
{
	iso_child_check(child, ISO_STEP_ID_MAP, write_file("/proc/self/setgroups", "deny"));
	iso_child_check(child, ISO_STEP_ID_MAP, write_file("/proc/self/uid_map", child->uid_map));
	iso_child_check(child, ISO_STEP_ID_MAP, write_file("/proc/self/gid_map", child->gid_map));
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
	iso_child_check(child, step, iso_raw2(SYS_capget, ISO_ARG(&header), ISO_ARG(data)));
	data[0].inheritable = 1U << CAP_SETPCAP;
	data[1].inheritable = 0;
	iso_child_check(child, step, iso_raw2(SYS_capset, ISO_ARG(&header), ISO_ARG(data)));
	iso_child_check(
		child, step,
		iso_raw5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETPCAP, 0, 0));
}

/*
 * The parent sets the limits meanwhile; it is done when the init's configuration is there to be
 * read. Should it die instead, nothing here may go on.
 */
static void wait_for_limits(const struct iso_child *child)
{
	struct pollfd polled[] = {
		{.fd = child->descriptors[ISO_INIT_FD_CONTROL], .events = POLLIN},
		{.fd = child->descriptors[ISO_INIT_FD_PARENT], .events = POLLIN},
	};
	while (polled[0].revents == 0) {
		long result = iso_raw3(SYS_poll, ISO_ARG(polled), 2, -1);
		if (result < 0 && result != -EINTR)
			iso_child_fail(child, ISO_STEP_CGROUP_JOIN, ISO_CHILD_NO_INDEX, result);
		if (polled[1].revents != 0)
			(void)iso_raw1(SYS_exit_group, 1);
	}
}

/*
 * The v2 cgroup was joined by clone itself. The cgroup namespace comes after the others, so that
 * its root is the run's own cgroup and not the caller's.
 */
static void join_cgroup(const struct iso_child *child)
{
	const enum iso_step step = ISO_STEP_CGROUP_JOIN;
	for (int v1 = 0; v1 < ISO_V1_COUNT; v1++) {
		if (child->join_dirs[v1] < 0)
			continue;
		long fd = iso_raw4(SYS_openat, child->join_dirs[v1], ISO_ARG(child->join_path),
				   O_WRONLY | O_CLOEXEC, 0);
		iso_child_check(child, step, fd);
		iso_child_check(child, step, iso_raw3(SYS_write, fd, ISO_ARG("0"), 1));
		iso_child_close(fd);
	}
	iso_child_check(child, ISO_STEP_CGROUP_NAMESPACE, iso_raw1(SYS_unshare, CLONE_NEWCGROUP));
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
	iso_child_check(child, step, fd);
	iso_child_check(child, step,
			iso_raw6(SYS_sendto, fd, ISO_ARG(child->loopback_message),
				 (long)child->loopback_length, 0, 0, 0));
	long length = iso_raw6(SYS_recvfrom, fd, ISO_ARG(&answer), sizeof(answer), 0, 0, 0);
	iso_child_check(child, step, length);
	if ((size_t)length < sizeof(answer.header) + sizeof(answer.error) ||
	    answer.header.nlmsg_type != NLMSG_ERROR)
		iso_child_fail(child, step, ISO_CHILD_NO_INDEX, -EPROTO);
	iso_child_check(child, step, answer.error.error);
	iso_child_close(fd);
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
			iso_child_check(child, step, moved);
			sources[later] = (int)moved;
		}
		if (child->init_fd == target) {
			long moved =
				iso_raw3(SYS_fcntl, target, F_DUPFD_CLOEXEC, ISO_INIT_FD_COUNT);
			iso_child_check(child, step, moved);
			child->init_fd = (int)moved;
		}
		if (sources[target] == target)
			iso_child_check(child, step, iso_raw3(SYS_fcntl, target, F_SETFD, 0));
		else
			iso_child_check(child, step,
					iso_raw3(SYS_dup3, sources[target], target, 0));
	}
	iso_child_check(child, step,
			iso_raw3(SYS_close_range, ISO_INIT_FD_COUNT, ~0U, CLOSE_RANGE_CLOEXEC));
}

void iso_child_main(const void *argument)
{
	struct iso_child child = *(const struct iso_child *)argument; /* its own copy to work on */

	(void)iso_raw1(SYS_umask, 0); /* modes in the plan are meant as they stand */
	if (child.own_user_namespace)
		map_ids(&child);
	long root = child.template_fd < 0 ? iso_child_build_world(&child)
					  : iso_child_copy_world(&child);
	iso_child_check(
		&child, ISO_STEP_HOSTNAME,
		iso_raw2(SYS_sethostname, ISO_ARG(child.hostname), (long)child.hostname_length));
	loopback_up(&child);
	iso_child_at(&child, ISO_STEP_CGROUP_JOIN, ISO_CHILD_NO_INDEX);
	wait_for_limits(&child);
	join_cgroup(&child);
	if (child.template_fd < 0)
		iso_child_leave_host(&child, root);
	if (child.own_user_namespace)
		keep_setpcap(&child);

	iso_child_at(&child, ISO_STEP_EXEC_INIT, ISO_CHILD_NO_INDEX);
	arrange_descriptors(&child, child.descriptors);
	child.descriptors[ISO_INIT_FD_CONTROL] = ISO_INIT_FD_CONTROL;
	long result = iso_raw5(SYS_execveat, child.init_fd, ISO_ARG(""), ISO_ARG(child.init_argv),
			       ISO_ARG(child.env), AT_EMPTY_PATH);
	iso_child_fail(&child, ISO_STEP_EXEC_INIT, ISO_CHILD_NO_INDEX, result);
}

void iso_child_make_template(const void *argument)
{
	const struct iso_child child = *(const struct iso_child *)argument;
	const struct iso_record built = {.type = ISO_RECORD_STARTED};
	struct pollfd parent = {.fd = child.descriptors[ISO_INIT_FD_PARENT], .events = POLLIN};

	(void)iso_raw1(SYS_umask, 0);
	iso_child_leave_host(&child, iso_child_build_world(&child));
	iso_child_report(&child, &built);
	(void)iso_raw3(SYS_poll, ISO_ARG(&parent), 1, -1);
	for (;;)
		(void)iso_raw1(SYS_exit_group, 0);
}
