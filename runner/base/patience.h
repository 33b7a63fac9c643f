/* How long something may take, and who may end it before. Thread-safe. */
#ifndef ISORUN_BASE_PATIENCE_H
#define ISORUN_BASE_PATIENCE_H

#include <stdint.h>

struct iso_patience {
	int64_t deadline_ns; /* monotonic; ISO_NEVER: none */
	int cancel_fd;	     /* borrowed; readable: give up. -1: none */
};

/* One of so many milliseconds from now on. */
struct iso_patience iso_patience_for(uint64_t ms, int cancel_fd);

/* 0: go on; ETIMEDOUT; ECANCELED when the descriptor is readable, or when this thread has a signal
 * pending that asks a program to end, which it has blocked and so cannot act upon. */
int iso_patience_end(const struct iso_patience *patience);

/* Wait until `fd` is readable: 0; else as iso_patience_end. */
int iso_patience_wait(const struct iso_patience *patience, int fd);

#endif
