/* Arrays that grow. Thread-safe on distinct arrays. */
#ifndef ISORUN_BASE_ARRAY_H
#define ISORUN_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* How many items a true array has. */
#define ISO_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Make room for `wanted` items.
 *
 * array      address of the pointer to the items, which may be NULL; owned by the caller
 * capacity   how many items there is room for; grows by doubling
 * item_size  in bytes
 *
 * False when out of memory: then both are as they were.
 */
bool iso_array_reserve(void *array, size_t *capacity, size_t wanted, size_t item_size);

/* Make room for one item more where there are `count`, for arrays that only ever grow through this
 * function: their capacity follows from their count. */
bool iso_array_grow(void *array, size_t count, size_t item_size);

#endif
