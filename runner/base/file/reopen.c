/* The magic links of procfs lead to the object itself, whatever its name is by now. */
#include "runner/base/file/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runner/base/file/fd.h"

#define LINK_SIZE 32

static void print_link(int fd, char ret_link[LINK_SIZE])
{
	snprintf(ret_link, LINK_SIZE, "/proc/self/fd/%d", fd);
}

int iso_reopen(int fd, int flags)
{
	char link[LINK_SIZE];
	print_link(fd, link);
	return iso_fd_above_stdio(open(link, flags | O_CLOEXEC));
}

ssize_t iso_reopen_path(int fd, char *ret_path, size_t size)
{
	char link[LINK_SIZE];
	print_link(fd, link);
	ssize_t length = readlink(link, ret_path, size);
	if (length < 0)
		return -1;
	if ((size_t)length == size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	ret_path[length] = '\0';
	return length;
}

int iso_reopen_link(int fd, int dir_fd, const char *name)
{
	char link[LINK_SIZE];
	print_link(fd, link);
	return linkat(AT_FDCWD, link, dir_fd, name, AT_SYMLINK_FOLLOW);
}
