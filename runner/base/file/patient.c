/*
 * RESOLVE_CACHED (Linux 5.12) fails where a lookup would have to ask a file system. A descriptor
 * got that way can still be of one that must be asked for its attributes.
 */
#include "runner/base/file/patient.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/file/beneath.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/reopen.h"
#include "runner/base/file/slow.h"
#include "runner/base/scout.h"

struct question {
	int dir_fd; /* from which nothing may lead out, or AT_FDCWD: from anywhere to anywhere */
	const char *path;
	int flags;
};

struct reply {
	int failed; /* an errno, or 0 */
	struct stat st;
};

/* However long it takes. */
static int open_now(const struct question *question)
{
	return question->dir_fd == AT_FDCWD
		       ? iso_fd_above_stdio(open(question->path, question->flags | O_CLOEXEC))
		       : iso_open_beneath(question->dir_fd, question->path, question->flags);
}

static void look(int reply_fd, const void *argument)
{
	struct reply reply = {0};
	int fd = open_now(argument);
	if (fd < 0 || fstat(fd, &reply.st) < 0)
		reply.failed = errno;
	if (reply.failed == 0)
		iso_scout_send_fd(reply_fd, &reply, sizeof(reply), fd);
	else
		(void)iso_fd_write_all(reply_fd, &reply, sizeof(reply));
}

/* Let a scout open it; `given_fd` is what it needs for that, or -1. */
static int ask_scout(const struct question *question, int given_fd,
		     const struct iso_patience *patience, struct stat *ret_st)
{
	const struct iso_scout_work work = {look, question, given_fd};
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
static int open_cached(const struct question *question)
{
	const bool beneath = question->dir_fd != AT_FDCWD;
	const struct open_how how = {
		.flags = (uint64_t)(unsigned int)(question->flags | O_CLOEXEC),
		.resolve =
			RESOLVE_CACHED | (beneath ? RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS : 0U),
	};
	int fd = iso_fd_above_stdio(
		(int)syscall(SYS_openat2, question->dir_fd, question->path, &how, sizeof(how)));
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

static int open_patiently(const struct question *question, const struct iso_patience *patience,
			  struct stat *ret_st)
{
	ISO_AUTO_CLOSE int fd = open_cached(question);
	if (fd < 0 && !is_undecided(errno))
		return -1;
	if (fd < 0 && iso_slow_exists())
		return ask_scout(question, question->dir_fd == AT_FDCWD ? -1 : question->dir_fd,
				 patience, ret_st);
	if (fd < 0)
		fd = open_now(question);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -1;
	return ISO_TAKE_FD(fd);
}

int iso_patient_open(const char *path, int flags, const struct iso_patience *patience,
		     struct stat *ret_st)
{
	const struct question question = {AT_FDCWD, path, O_PATH | flags};
	return open_patiently(&question, patience, ret_st);
}

int iso_patient_open_beneath(int dir_fd, const char *path, const struct iso_patience *patience,
			     struct stat *ret_st)
{
	const struct question question = {dir_fd, path, O_PATH};
	return open_patiently(&question, patience, ret_st);
}

int iso_patient_reopen(int fd, int flags, const struct iso_patience *patience)
{
	char path[64];
	struct stat st;
	const struct question question = {AT_FDCWD, path, flags};
	if (!iso_slow_is(fd))
		return iso_reopen(fd, flags);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return ask_scout(&question, fd, patience, &st);
}
