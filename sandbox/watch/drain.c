/*
 * Back pressure is the pipe's own: while the outlet has not taken what was read, nothing more is
 * read. A reader that has gone away ends the stream as it would end the payload's own pipe; an
 * outlet that fails otherwise is given up, and capturing goes on.
 *
 * A pipe of 256 KiB and one reused buffer that empties it in one read measured best: smaller ones
 * wake both sides more often, larger ones outgrow the processor's cache.
 */
#include "sandbox/watch/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/base/error.h"
#include "runner/base/file/fd.h"

#define PIPE_SIZE      (256 * 1024)
#define BUFFER_SIZE    ((size_t)PIPE_SIZE)
#define READS_PER_PUMP 8 /* then other descriptors and deadlines get their turn */
#define TERMINAL_HOLDS ((size_t)1024 * 1024) /* more than one can have in its buffers */

int iso_stream_open(struct iso_stream *ret_stream, const struct iso_stream_options *options,
		    struct iso_error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create an output pipe");
	struct iso_stream stream = {
		.read_fd = iso_fd_above_stdio(ends[0]),
		.write_fd = iso_fd_above_stdio(ends[1]),
		.capture = options->capture,
		.count_characters = options->count_characters,
		.outlet = {.fd = -1},
		.buffer = malloc(BUFFER_SIZE),
	};
	if (stream.read_fd < 0 || stream.write_fd < 0 || stream.buffer == NULL ||
	    iso_outlet_init(&stream.outlet, options->outlet_fd) < 0 ||
	    fcntl(stream.read_fd, F_SETFL, O_NONBLOCK) < 0 ||
	    (options->give_away &&
	     fchown(stream.write_fd, options->owner_uid, options->owner_gid) < 0)) {
		int saved = errno;
		iso_stream_done(&stream);
		return iso_error_set(err, ISO_ERR_SYSTEM, saved, "set up an output pipe");
	}
	/* Only speed: an ordinary user may have used up the share of pipe pages. */
	(void)fcntl(stream.read_fd, F_SETPIPE_SZ, PIPE_SIZE);
	sha256_init(&stream.sha256);
	iso_retain_init(&stream.retain, options->keep,
			options->capture ? (size_t)options->limit_bytes : 0);
	*ret_stream = stream;
	return 0;
}

void iso_stream_take_terminal(struct iso_stream *stream, int fd)
{
	iso_fd_close(stream->read_fd);
	stream->read_fd = fd;
	stream->is_terminal = true;
}

bool iso_stream_wants_read(const struct iso_stream *stream)
{
	return stream->read_fd >= 0 && stream->pending == 0;
}

bool iso_stream_wants_write(const struct iso_stream *stream)
{
	return stream->pending > 0;
}

bool iso_stream_ended(const struct iso_stream *stream)
{
	return stream->read_fd < 0 && stream->pending == 0;
}

void iso_stream_abandon_outlet(struct iso_stream *stream, int os_errno)
{
	if (stream->outlet.kind == ISO_OUTLET_NONE)
		return;
	if (stream->outlet_errno == 0)
		stream->outlet_errno = os_errno;
	iso_outlet_done(&stream->outlet);
	stream->pending = 0;
}

void iso_stream_last_call(struct iso_stream *stream)
{
	/* What is in there, which can be more than the pipe's size: splice(2) fills its slots. */
	int held = 0;
	bool known = !stream->is_terminal && ioctl(stream->read_fd, FIONREAD, &held) == 0;
	stream->left = known ? (size_t)held : TERMINAL_HOLDS;
	stream->last_call = true;
}

/* Hand pending bytes to the outlet; false when it must be waited for. */
static bool flush(struct iso_stream *stream)
{
	while (stream->written < stream->pending) {
		ssize_t count = iso_outlet_write(&stream->outlet, stream->buffer + stream->written,
						 stream->pending - stream->written);
		if (count > 0) {
			stream->written += (size_t)count;
			stream->outlet_midline = stream->buffer[stream->written - 1] != '\n';
			continue;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return false;
		if (errno == EPIPE) /* the reader left: the payload shall see that too */
			stream->read_fd = iso_fd_close(stream->read_fd);
		iso_stream_abandon_outlet(stream, errno);
		return true;
	}
	stream->pending = 0;
	return true;
}

/* Bytes that are not the continuation of a character. */
static uint64_t count_starts(const uint8_t *data, size_t size)
{
	uint64_t count = 0;
	for (size_t i = 0; i < size; i++)
		count += (data[i] & 0xc0) != 0x80;
	return count;
}

static void take(struct iso_stream *stream, size_t size)
{
	if (stream->count_characters)
		stream->characters += count_starts(stream->buffer, size);
	if (stream->capture) {
		sha256_update(&stream->sha256, size, stream->buffer);
		if (iso_retain_add(&stream->retain, stream->buffer, size) < 0)
			stream->out_of_memory = true;
	} else {
		stream->retain.total_bytes += size;
	}
	if (stream->outlet.kind != ISO_OUTLET_NONE) {
		stream->pending = size;
		stream->written = 0;
	}
}

/* Read into the buffer: how much, 0 at the end of the stream, or -1 when there is nothing now. */
static ssize_t read_some(struct iso_stream *stream)
{
	size_t room = stream->last_call && stream->left < BUFFER_SIZE ? stream->left : BUFFER_SIZE;
	ssize_t count = read(stream->read_fd, stream->buffer, room);
	if (count < 0 && errno == EINTR)
		return -1;
	if (count < 0 && errno == EAGAIN)
		return stream->last_call ? 0 : -1;
	if (count < 0) {
		/* A terminal says EIO when its last holder is gone. */
		if (errno != EIO || !stream->is_terminal)
			stream->read_errno = errno;
		return 0;
	}
	if (stream->last_call)
		stream->left -= (size_t)count;
	return count;
}

void iso_stream_pump(struct iso_stream *stream)
{
	for (int i = 0; i < READS_PER_PUMP; i++) {
		if (stream->pending > 0 && !flush(stream))
			return;
		if (stream->read_fd < 0)
			return;
		ssize_t count = read_some(stream);
		if (count < 0)
			return;
		if (count == 0) {
			stream->read_fd = iso_fd_close(stream->read_fd);
			return;
		}
		take(stream, (size_t)count);
	}
	if (stream->pending > 0)
		(void)flush(stream); /* false only means that POLLOUT is waited for */
}

void iso_stream_done(struct iso_stream *stream)
{
	iso_fd_close(stream->read_fd);
	iso_fd_close(stream->write_fd);
	iso_outlet_done(&stream->outlet);
	free(stream->buffer);
	iso_retain_done(&stream->retain);
	*stream = (struct iso_stream){.read_fd = -1, .write_fd = -1, .outlet = {.fd = -1}};
}
