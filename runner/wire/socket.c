/* Every descriptor here is non-blocking and above the standard streams. */
#include "runner/wire/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"

static int make_address(const char *path, struct sockaddr_un *ret_address)
{
	size_t size = strlen(path) + 1;
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	/* An empty name would be one in the network namespace, which anybody can take. */
	if (size == 1 || size > sizeof(ret_address->sun_path)) {
		errno = size == 1 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	memcpy(ret_address->sun_path, path, size);
	return 0;
}

static int make_socket(void)
{
	return iso_fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int iso_wire_connect(const char *path)
{
	struct sockaddr_un address;
	if (make_address(path, &address) < 0)
		return -1;
	ISO_AUTO_CLOSE int fd = make_socket();
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return ISO_TAKE_FD(fd);
}

int iso_wire_listen(const char *path, struct iso_error *err)
{
	struct sockaddr_un address;
	struct stat st;
	if (make_address(path, &address) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "listen on \"%s\"", path);
	ISO_AUTO_CLOSE int fd = make_socket();
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, EADDRINUSE, "listen on \"%s\"", path);
	/* Files refuse connections, too; bind says so, as it does when this fails. */
	if (errno == ECONNREFUSED && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
	/* The mode of the socket that bind makes; the umask is the whole process's. */
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "listen on \"%s\"", path);
	return ISO_TAKE_FD(fd);
}

int iso_wire_accept(int listen_fd)
{
	return iso_fd_above_stdio(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool iso_wire_peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

bool iso_wire_wait(int fd, short events, int64_t deadline_ns)
{
	for (;;) {
		struct pollfd event = {.fd = fd, .events = events};
		int64_t now = iso_clock_mono_ns();
		if (now >= deadline_ns)
			return false;
		int count = poll(&event, 1, iso_deadline_poll_ms(deadline_ns, now));
		if (count > 0)
			return true;
		if (count < 0 && errno != EINTR)
			return false;
	}
}
