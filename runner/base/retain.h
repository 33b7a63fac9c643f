/*
 * Bounded retention of a stream: its first or its last bytes, and how many there were in all.
 * Memory grows with what is kept and never beyond the limit. One owner, not thread-safe.
 */
#ifndef ISORUN_BASE_RETAIN_H
#define ISORUN_BASE_RETAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/isorun.h"

struct iso_retain {
	enum iso_keep keep;
	size_t limit_bytes;
	uint8_t *data;	 /* owned */
	size_t capacity; /* allocated bytes at `data` */
	size_t start;	 /* tail only, once full: where the oldest byte stands */
	size_t length;	 /* bytes held */
	uint64_t total_bytes;
};

/* Prepare `retain` (caller-allocated, any content). `limit_bytes` may be 0: only count. */
void iso_retain_init(struct iso_retain *retain, enum iso_keep keep, size_t limit_bytes);

/* Take the next bytes of the stream; 0, or -1 when out of memory (they are counted anyway). */
int iso_retain_add(struct iso_retain *retain, const void *data, size_t size);

/*
 * Put what is held in order and trim characters that the cut has split.
 *
 * ret_size  number of bytes at the returned pointer, which `retain` keeps owning
 *
 * Call it once, after the last iso_retain_add.
 */
const uint8_t *iso_retain_finish(struct iso_retain *retain, size_t *ret_size);

/* True when the stream was longer than what is held. */
bool iso_retain_truncated(const struct iso_retain *retain);

/* Free the memory; a zeroed value is fine. */
void iso_retain_done(struct iso_retain *retain);

#endif
