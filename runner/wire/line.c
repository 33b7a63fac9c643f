/* A line that was taken stays where it is until the next call, which moves the rest to the
 * front. */
#include "runner/wire/line.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runner/base/array.h"
#include "runner/wire/socket.h"

#define PIECE 4096

/* Leave out the line that was taken last. */
static void drop_taken(struct iso_wire_lines *lines)
{
	lines->size -= lines->taken;
	memmove(lines->data, lines->data + lines->taken, lines->size);
	lines->taken = 0;
}

enum iso_wire_state iso_wire_receive(struct iso_wire_lines *lines, int fd)
{
	if (lines->taken > 0)
		drop_taken(lines);
	if (lines->size >= lines->line_max)
		return ISO_WIRE_TOO_LONG;
	size_t room = lines->line_max - lines->size;
	size_t piece = room < PIECE ? room : PIECE;
	if (!iso_array_reserve(&lines->data, &lines->capacity, lines->size + piece, 1))
		return ISO_WIRE_CLOSED;
	ssize_t count = recv(fd, lines->data + lines->size, piece, MSG_DONTWAIT);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return ISO_WIRE_OPEN;
	if (count <= 0)
		return ISO_WIRE_CLOSED;
	lines->size += (size_t)count;
	return ISO_WIRE_OPEN;
}

const char *iso_wire_take(struct iso_wire_lines *lines, size_t *ret_size)
{
	if (lines->taken > 0)
		drop_taken(lines);
	const char *newline = lines->size > 0 ? memchr(lines->data, '\n', lines->size) : NULL;
	if (newline == NULL)
		return NULL;
	*ret_size = (size_t)(newline - lines->data);
	lines->taken = *ret_size + 1;
	return lines->data;
}

bool iso_wire_send(int fd, const char *text, int64_t deadline_ns)
{
	size_t size = strlen(text);
	while (size > 0) {
		ssize_t count = send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (count > 0) {
			text += count;
			size -= (size_t)count;
			continue;
		}
		bool busy = count == 0 || errno == EAGAIN || errno == EINTR;
		if (!busy || !iso_wire_wait(fd, POLLOUT, deadline_ns))
			return false;
	}
	return true;
}

void iso_wire_lines_done(struct iso_wire_lines *lines)
{
	free(lines->data);
	*lines = (struct iso_wire_lines){.line_max = lines->line_max};
}
