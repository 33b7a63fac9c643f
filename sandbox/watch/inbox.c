/* Messages are taken one at a time: of several that came together each counts. */
#include "sandbox/watch/inbox.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "runner/base/file/fd.h"

ssize_t iso_inbox_record(int control_fd, struct iso_record *ret_record, int *ret_fd)
{
	struct iovec data = {ret_record, sizeof(*ret_record)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr envelope = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size;
	/* A child that ended before it had read what we sent resets the pair, which the kernel says
	 * once, and before it hands out what the child sent. */
	do {
		size = recvmsg(control_fd, &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	*ret_fd = -1;
	if (size > 0 && envelope.msg_controllen >= sizeof(control.header) &&
	    control.header.cmsg_type == SCM_RIGHTS &&
	    control.header.cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return size;
}

void iso_inbox_open(struct iso_inbox_signals *ret_signals, int fd)
{
	*ret_signals = (struct iso_inbox_signals){.fd = fd, .size = sizeof(uint32_t)};
}

bool iso_inbox_signal(struct iso_inbox_signals *signals, int *ret_signal)
{
	struct signalfd_siginfo info = {0}; /* a number lands in its first member */
	if (signals->fd < 0)
		return false;
	ssize_t size = iso_fd_read_now(signals->fd, &info, signals->size);
	if (size < 0 && errno == EINVAL && signals->size < sizeof(info)) {
		signals->size = sizeof(info); /* a signalfd speaks in records of its own */
		size = iso_fd_read_now(signals->fd, &info, signals->size);
	}
	if (size < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (size <= 0) { /* its writer is gone: nobody will cancel any more */
		signals->fd = -1;
		return false;
	}
	*ret_signal = size < (ssize_t)sizeof(info.ssi_signo) ? SIGTERM : (int)info.ssi_signo;
	return true;
}
