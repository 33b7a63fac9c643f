/*
 * Lines over a socket, bounded: what a peer can make grow ends at a limit that the owner sets. One
 * owner, not thread-safe.
 */
#ifndef ISORUN_WIRE_LINE_H
#define ISORUN_WIRE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iso_wire_lines {
	char *data; /* owned; received, not yet taken */
	size_t size, capacity;
	size_t taken;	 /* how much of it is the line that was taken last */
	size_t line_max; /* bytes, newline included */
};

enum iso_wire_state {
	ISO_WIRE_OPEN = 0, /* more may come */
	ISO_WIRE_CLOSED,   /* the peer has ended it, or it failed */
	ISO_WIRE_TOO_LONG, /* a line exceeds the limit */
};

/* Receive what is there now, after every whole line has been taken. */
enum iso_wire_state iso_wire_receive(struct iso_wire_lines *lines, int fd);

/* The next whole line without its newline, valid until the next call of either function; NULL:
 * there is none. */
const char *iso_wire_take(struct iso_wire_lines *lines, size_t *ret_size);

/* Send all of `text` (NUL-terminated) until `deadline_ns`; false when that was not possible. */
bool iso_wire_send(int fd, const char *text, int64_t deadline_ns);

/* A zeroed value is fine. */
void iso_wire_lines_done(struct iso_wire_lines *lines);

#endif
