/* Control files of procfs and cgroupfs take one write each and report errors then, not at close. */
#include "runner/base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/file/write_guard.h"

int iso_fd_close(int fd)
{
	if (fd >= 0) {
		int saved = errno;
		(void)close(fd); /* nothing can be done, and Linux closes it even on error */
		errno = saved;
	}
	return -1;
}

int iso_fd_above_stdio(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	iso_fd_close(fd);
	return moved;
}

static bool is_regular(int fd)
{
	struct stat st;
	bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (!regular)
		errno = EAGAIN;
	return regular;
}

ssize_t iso_fd_read_now(int fd, void *data, size_t size)
{
	struct iovec part = {data, size};
	ssize_t count = syscall(SYS_preadv2, fd, &part, 1, -1L, -1L, RWF_NOWAIT);
	if (count >= 0 || (errno == EAGAIN && !is_regular(fd)) ||
	    (errno != EAGAIN && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
		return count;
	/* What does not know how: a moment between two calls, in which somebody else may read. */
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	if (poll(&polled, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return read(fd, data, size);
}

int iso_fd_write_all(int fd, const void *data, size_t size)
{
	struct iso_write_guard guard;
	const char *cursor = data;
	ssize_t count = 0;
	iso_write_guard_begin(&guard);
	while (size > 0 && (count >= 0 || errno == EINTR)) {
		count = write(fd, cursor, size);
		if (count > 0) {
			cursor += count;
			size -= (size_t)count;
		}
	}
	iso_write_guard_end(&guard, size > 0 ? errno : 0);
	return size > 0 ? -1 : 0;
}

ssize_t iso_fd_read_small(int dir_fd, const char *path, char *buffer, size_t size)
{
	ISO_AUTO_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -1;
	size_t length = 0;
	for (;;) {
		ssize_t count = read(fd, buffer + length, size - length);
		if (count < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		length += (size_t)count;
		if (length == size) {
			errno = EFBIG;
			return -1;
		}
		if (count == 0)
			break;
	}
	buffer[length] = '\0';
	return (ssize_t)length;
}

int iso_fd_read_all(int fd, size_t limit, char **ret_data, size_t *ret_size)
{
	size_t size = 0, capacity = 4096;
	ISO_AUTO_FREE char *data = malloc(capacity);
	while (data != NULL) {
		ssize_t count = read(fd, data + size, capacity - size - 1);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -1;
		if (count == 0) {
			data[size] = '\0';
			*ret_data = ISO_TAKE_PTR(data);
			*ret_size = size;
			return 0;
		}
		size += (size_t)count;
		if (size > limit) {
			errno = EFBIG;
			return -1;
		}
		if (capacity - size == 1) {
			char *grown = realloc(data, capacity * 2);
			if (grown == NULL)
				break;
			data = grown;
			capacity *= 2;
		}
	}
	errno = ENOMEM;
	return -1;
}

int iso_fd_write_control(int dir_fd, const char *path, const char *text)
{
	ISO_AUTO_CLOSE int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -1;
	ssize_t count;
	do {
		count = write(fd, text, strlen(text));
	} while (count < 0 && errno == EINTR);
	return count < 0 ? -1 : 0;
}
