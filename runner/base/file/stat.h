/* statx(2) without a libc's help: musl of Debian 12 does not declare it. Thread-safe. */
#ifndef ISORUN_BASE_FILE_STAT_H
#define ISORUN_BASE_FILE_STAT_H

#include <stdint.h>

struct iso_file_stat {
	uint64_t ino, size_bytes;
	int64_t mtime_ns, ctime_ns; /* since the epoch */
	uint32_t uid, gid;
	uint16_t mode; /* type and permissions */
};

/* Look at `name` in `dir_fd` without following a link or triggering an automount; 0, or -1 with
 * errno. */
int iso_file_stat_at(int dir_fd, const char *name, struct iso_file_stat *ret_stat);

#endif
