/* Public structures that start with their size, between programs and libraries of different
 * ages. */
#ifndef ISORUN_BASE_SIZED_H
#define ISORUN_BASE_SIZED_H

#include <stddef.h>

#include "runner/isorun.h"

/*
 * Read a structure of a program's.
 *
 * given, given_size  its own, as its initialiser noted it
 * ret_ours, size     ours, filled with defaults; untouched on failure
 * name               for messages, e.g. "struct iso_request"
 *
 * What the program's has is taken over; where ours has more, that keeps its default. Where ours has
 * less, what the program has more must be zero.
 *
 * Errors: ISO_ERR_INVALID. Thread-safe.
 */
int iso_sized_read(const void *given, size_t given_size, void *ret_ours, size_t size,
		   const char *name, struct iso_error *err);

/* Fill a structure of a program's, of `given_size` bytes, from ours; what it has more is zero. */
void iso_sized_write(void *ret_given, size_t given_size, const void *ours, size_t size);

#endif
