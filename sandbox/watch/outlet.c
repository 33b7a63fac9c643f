/*
 * A pipe, FIFO or terminal is opened again through /proc/self/fd, which gives a file description of
 * our own. Where that is refused (a pipe of another user), POLLOUT promises PIPE_BUF bytes of room.
 */
#include "sandbox/watch/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/file/fd.h"
#include "runner/base/file/reopen.h"
#include "runner/base/file/write_guard.h"

int iso_outlet_init(struct iso_outlet *ret_outlet, int fd)
{
	*ret_outlet = (struct iso_outlet){.kind = ISO_OUTLET_NONE, .fd = -1};
	struct stat st;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -1;
	ret_outlet->fd = fd;
	if (S_ISREG(st.st_mode)) {
		ret_outlet->kind = ISO_OUTLET_FILE;
		return 0;
	}
	if (S_ISSOCK(st.st_mode)) {
		ret_outlet->kind = ISO_OUTLET_SOCKET;
		return 0;
	}
	int own = iso_reopen(fd, O_WRONLY | O_NONBLOCK | O_NOCTTY);
	if (own >= 0)
		*ret_outlet = (struct iso_outlet){ISO_OUTLET_REOPENED, own, true};
	else
		ret_outlet->kind = ISO_OUTLET_CAUTIOUS;
	return 0;
}

static ssize_t write_cautiously(int fd, const void *data, size_t size)
{
	struct pollfd event = {.fd = fd, .events = POLLOUT};
	if (poll(&event, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, data, size < PIPE_BUF ? size : PIPE_BUF);
}

static ssize_t write_once(struct iso_outlet *outlet, const void *data, size_t size)
{
	ssize_t count;
	do {
		switch (outlet->kind) {
		case ISO_OUTLET_SOCKET:
			count = send(outlet->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
			break;
		case ISO_OUTLET_CAUTIOUS:
			count = write_cautiously(outlet->fd, data, size);
			break;
		default:
			count = write(outlet->fd, data, size);
			break;
		}
	} while (count < 0 && errno == EINTR);
	return count;
}

ssize_t iso_outlet_write(struct iso_outlet *outlet, const void *data, size_t size)
{
	struct iso_write_guard guard;
	if (outlet->kind == ISO_OUTLET_SOCKET)
		return write_once(outlet, data, size);
	iso_write_guard_begin(&guard);
	ssize_t count = write_once(outlet, data, size);
	iso_write_guard_end(&guard, count < 0 ? errno : 0);
	return count;
}

void iso_outlet_done(struct iso_outlet *outlet)
{
	if (outlet->owned)
		iso_fd_close(outlet->fd);
	*outlet = (struct iso_outlet){.kind = ISO_OUTLET_NONE, .fd = -1};
}
