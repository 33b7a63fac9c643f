/*
 * RESOLVE_CACHED (Linux 5.12) fails where a lookup would have to ask a file system. A descriptor got
 * that way can still be of one that must be asked for its attributes.
 */
#include "runner/base/file/patient.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/slow.h"
#include "runner/base/scout.h"

struct question {
	const char *path;
	int flags;
};

struct reply {
	int failed; /* an errno, or 0 */
	struct stat st;
};

static int open_path(const char *path, int flags)
{
	return open(path, O_PATH | O_CLOEXEC | flags);
}

static void look(int reply_fd, const void *argument)
{
	const struct question *question = argument;
	struct reply reply = {0};
	int fd = open_path(question->path, question->flags);
	if (fd < 0 || fstat(fd, &reply.st) < 0)
		reply.failed = errno;
	if (reply.failed == 0)
		iso_scout_send_fd(reply_fd, &reply, sizeof(reply), fd);
	else
		(void)iso_fd_write_all(reply_fd, &reply, sizeof(reply));
}

static int ask_scout(const char *path, int flags, const struct iso_patience *patience,
		     struct stat *ret_st)
{
	const struct question question = {path, flags};
	const struct iso_scout_work work = {look, &question, -1};
	const struct iso_patience usual = iso_patience_for(ISO_LOOKUP_LIMIT_MS, -1);
	ISO_AUTO_FREE char *data = NULL;
	size_t size;
	ISO_AUTO_CLOSE int fd = -1;
	struct reply reply;
	int failed = iso_scout_send(&work, patience != NULL ? patience : &usual, sizeof(reply),
				    &data, &size, &fd);
	if (failed == 0 && size == sizeof(reply)) {
		memcpy(&reply, data, sizeof(reply));
		failed = reply.failed;
		*ret_st = reply.st;
	} else if (failed == 0) {
		failed = EIO; /* it was killed */
	}
	errno = failed;
	return failed == 0 ? ISO_TAKE_FD(fd) : -1;
}

/* In one step, if the kernel need not ask anybody; -1 with EAGAIN when it must, or may have to. */
static int open_cached(const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(unsigned int)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_CACHED,
	};
	int fd = iso_fd_above_stdio((int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
	if (fd >= 0 && !iso_slow_is(fd))
		return fd;
	if (fd >= 0) {
		iso_fd_close(fd);
		errno = EAGAIN;
	}
	return -1;
}

/* A refusal that says nothing of the path: the kernel, or a filter, does not know the call. */
static bool is_undecided(int os_errno)
{
	return os_errno == EAGAIN || os_errno == EINVAL || os_errno == ENOSYS || os_errno == EPERM;
}

int iso_patient_open(const char *path, int flags, const struct iso_patience *patience,
		     struct stat *ret_st)
{
	ISO_AUTO_CLOSE int fd = open_cached(path, flags);
	if (fd < 0 && !is_undecided(errno))
		return -1;
	if (fd < 0 && iso_slow_exists())
		return ask_scout(path, flags, patience, ret_st);
	if (fd < 0)
		fd = iso_fd_above_stdio(open_path(path, flags));
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -1;
	return ISO_TAKE_FD(fd);
}
