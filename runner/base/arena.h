/*
 * Memory that is only ever added to and goes all at once. Its pages exist when they are written to,
 * so a large one costs what is used of it. A shared one is the same for a forked process, at the
 * same address. Thread-safe but for open and close.
 */
#ifndef ISORUN_BASE_ARENA_H
#define ISORUN_BASE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct iso_arena {
	char *base; /* owned; NULL: none */
	size_t size;
	atomic_size_t used;
};

/* Reserve `size` bytes, or, where the process may not, as much as a halving of that finds; 0, or -1
 * with errno. */
int iso_arena_open(struct iso_arena *ret_arena, size_t size, bool shared);

/* `size` bytes, aligned for anything; NULL when there is no room left. */
void *iso_arena_take(struct iso_arena *arena, size_t size);

/* A zeroed value is fine. */
void iso_arena_close(struct iso_arena *arena);

#endif
