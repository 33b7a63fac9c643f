/* One mapping and one counter. */
#include "runner/base/arena.h"

#include <stdalign.h>
#include <sys/mman.h>

#define SMALLEST ((size_t)1 << 20)

int iso_arena_open(struct iso_arena *ret_arena, size_t size, bool shared)
{
	const int flags = MAP_ANONYMOUS | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);
	for (;; size /= 2) {
		void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (base != MAP_FAILED) {
			ret_arena->base = base;
			ret_arena->size = size;
			atomic_init(&ret_arena->used, 0);
			return 0;
		}
		if (size <= SMALLEST)
			return -1;
	}
}

void *iso_arena_take(struct iso_arena *arena, size_t size)
{
	const size_t step = alignof(max_align_t);
	if (size > arena->size)
		return NULL;
	size = (size + step - 1) / step * step;
	size_t start = atomic_fetch_add(&arena->used, size);
	if (start > arena->size || arena->size - start < size) {
		atomic_fetch_sub(&arena->used, size); /* a smaller one may still fit */
		return NULL;
	}
	return arena->base + start;
}

void iso_arena_close(struct iso_arena *arena)
{
	if (arena->base != NULL)
		(void)munmap(arena->base, arena->size);
	arena->base = NULL;
	arena->size = 0;
}
