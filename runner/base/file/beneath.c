/* The one use of openat2 outside of the child, which makes raw calls. */
#include "runner/base/file/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/file/fd.h"

#define RACE_TRIES 64 /* EAGAIN: something was renamed while ".." was resolved */

static int open_resolved(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	const struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.resolve = resolve,
	};
	for (int tries = 1;; tries++) {
		long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		bool again = fd < 0 && (errno == EAGAIN || errno == EINTR) && tries < RACE_TRIES;
		if (!again)
			return iso_fd_above_stdio((int)fd);
	}
}

int iso_open_beneath(int dir_fd, const char *path, int flags)
{
	return open_resolved(dir_fd, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

int iso_open_without_links(int dir_fd, const char *path, int flags)
{
	return open_resolved(dir_fd, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}
