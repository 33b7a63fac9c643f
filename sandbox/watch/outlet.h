/*
 * Where a stream is passed through: a descriptor of the caller's that must never block us and whose
 * O_NONBLOCK flag must not be touched, because its open file description is shared with others.
 */
#ifndef ISORUN_SANDBOX_WATCH_OUTLET_H
#define ISORUN_SANDBOX_WATCH_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum iso_outlet_kind {
	ISO_OUTLET_NONE = 0,
	ISO_OUTLET_FILE,     /* regular file: never blocks for long, takes everything */
	ISO_OUTLET_SOCKET,   /* MSG_DONTWAIT */
	ISO_OUTLET_REOPENED, /* pipe or terminal: our own non-blocking open file description */
	ISO_OUTLET_CAUTIOUS, /* could not be reopened: only when writable, and little at a time */
};

struct iso_outlet {
	enum iso_outlet_kind kind;
	int fd;	    /* what is written to and polled for */
	bool owned; /* `fd` is ours to close */
};

/* Look at `fd` (borrowed; -1: no outlet) and choose how to write to it. 0, or -1 with errno. */
int iso_outlet_init(struct iso_outlet *ret_outlet, int fd);

/* Write some of `data`. Returns what was taken, or -1 with errno; EAGAIN: poll for POLLOUT. */
ssize_t iso_outlet_write(struct iso_outlet *outlet, const void *data, size_t size);

/* Stop using it. */
void iso_outlet_done(struct iso_outlet *outlet);

#endif
