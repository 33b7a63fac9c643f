/* Apart from the rest because the kernel's header and a libc's <sys/stat.h> exclude each other. */
#include "runner/base/file/stat.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t to_ns(const struct statx_timestamp *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

#define UNIQUE_MOUNT_ID 0x4000U /* STATX_MNT_ID_UNIQUE, in newer headers only */

int iso_file_mount_of(int fd, struct iso_mount_id *ret_id)
{
	const int flags = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	struct statx st;
	struct iso_mount_id id = {0};
	if (syscall(SYS_statx, fd, "", flags, STATX_MNT_ID, &st) < 0)
		return -1;
	if ((st.stx_mask & STATX_MNT_ID) == 0) {
		errno = ENOTSUP;
		return -1;
	}
	id.reused = st.stx_mnt_id;
	if (syscall(SYS_statx, fd, "", flags, UNIQUE_MOUNT_ID, &st) == 0 &&
	    (st.stx_mask & UNIQUE_MOUNT_ID) != 0)
		id.unique = st.stx_mnt_id;
	*ret_id = id;
	return 0;
}

int iso_file_stat_at(int dir_fd, const char *name, bool cached, struct iso_file_stat *ret_stat)
{
	struct statx st;
	if (syscall(SYS_statx, dir_fd, name,
		    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (cached ? AT_STATX_DONT_SYNC : 0),
		    STATX_BASIC_STATS, &st) < 0)
		return -1;
	*ret_stat = (struct iso_file_stat){
		.ino = st.stx_ino,
		.size_bytes = st.stx_size,
		.mtime_ns = to_ns(&st.stx_mtime),
		.ctime_ns = to_ns(&st.stx_ctime),
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.mode = st.stx_mode,
		.mount_root = (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
	};
	return 0;
}
