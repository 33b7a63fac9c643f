/* The one use of openat2 outside of the child, which makes raw calls. */
#include "runner/base/file/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/file/fd.h"

#define RACE_TRIES 64 /* EAGAIN: something was renamed while ".." was resolved */

int iso_open_beneath(int dir_fd, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	for (int tries = 1;; tries++) {
		long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		bool again = fd < 0 && (errno == EAGAIN || errno == EINTR) && tries < RACE_TRIES;
		if (!again)
			return iso_fd_above_stdio((int)fd);
	}
}
