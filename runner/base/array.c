/* Doubling, so that n appends copy at most 2 n items. */
#include "runner/base/array.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

static bool resize(void *array, size_t capacity, size_t item_size)
{
	void *grown = reallocarray(*(void **)array, capacity, item_size);
	if (grown == NULL)
		return false;
	*(void **)array = grown;
	return true;
}

bool iso_array_reserve(void *array, size_t *capacity, size_t wanted, size_t item_size)
{
	if (wanted <= *capacity)
		return true;
	size_t grown_capacity = *capacity > 0 ? *capacity * 2 : FIRST_CAPACITY;
	while (grown_capacity < wanted)
		grown_capacity *= 2;
	if (!resize(array, grown_capacity, item_size))
		return false;
	*capacity = grown_capacity;
	return true;
}

bool iso_array_grow(void *array, size_t count, size_t item_size)
{
	if (count == 0)
		return resize(array, FIRST_CAPACITY, item_size);
	bool is_full = count >= FIRST_CAPACITY && (count & (count - 1)) == 0;
	return !is_full || resize(array, count * 2, item_size);
}
