/* Apart from the rest because the kernel's header and a libc's <sys/stat.h> exclude each other. */
#include "runner/base/file/stat.h"

#include <linux/fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t to_ns(const struct statx_timestamp *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

int iso_file_stat_at(int dir_fd, const char *name, struct iso_file_stat *ret_stat)
{
	struct statx st;
	if (syscall(SYS_statx, dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
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
	};
	return 0;
}
