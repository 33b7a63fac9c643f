/* statx(2) without a libc's help: musl of Debian 12 does not declare it. Thread-safe. */
#ifndef ISORUN_BASE_FILE_STAT_H
#define ISORUN_BASE_FILE_STAT_H

#include <stdbool.h>
#include <stdint.h>

/* Which mount; Linux 6.8 has ids that are never given again. */
struct iso_mount_id {
	uint64_t reused;
	uint64_t unique; /* 0: this kernel has none */
};

struct iso_file_stat {
	uint64_t ino, size_bytes;
	int64_t mtime_ns, ctime_ns; /* since the epoch */
	uint32_t uid, gid;
	uint16_t mode;	 /* type and permissions */
	bool mount_root; /* a file system is mounted there */
};

/* The mount that `fd` lies in; 0, or -1 with errno. Of the file system nothing is asked. */
int iso_file_mount_of(int fd, struct iso_mount_id *ret_id);

/* Look at `name` in `dir_fd` without following a link or triggering an automount; 0, or -1 with
 * errno.
 *
 * cached  what the kernel remembers will do: a file system behind which somebody else stands is not
 *         asked
 */
int iso_file_stat_at(int dir_fd, const char *name, bool cached, struct iso_file_stat *ret_stat);

#endif
