/*
 * The head is a plain array that stops growing; the tail is the same array used as a ring once it
 * is full.
 */
#include "runner/base/retain.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/text/utf8.h"

#define FIRST_CAPACITY 4096

void iso_retain_init(struct iso_retain *retain, enum iso_keep keep, size_t limit_bytes)
{
	*retain = (struct iso_retain){.keep = keep, .limit_bytes = limit_bytes};
}

/* Make room for `size` more bytes, or for as many as the limit allows. */
static int reserve(struct iso_retain *retain, size_t size)
{
	size_t wanted = size > retain->limit_bytes - retain->length ? retain->limit_bytes
								    : retain->length + size;
	if (wanted <= retain->capacity)
		return 0;
	size_t capacity = retain->capacity > 0 ? retain->capacity : FIRST_CAPACITY;
	while (capacity < wanted)
		capacity *= 2;
	if (capacity > retain->limit_bytes)
		capacity = retain->limit_bytes;
	uint8_t *grown = realloc(retain->data, capacity);
	if (grown == NULL)
		return -1;
	retain->data = grown;
	retain->capacity = capacity;
	return 0;
}

static size_t append(struct iso_retain *retain, const uint8_t *data, size_t size)
{
	size_t room = retain->limit_bytes - retain->length;
	size_t count = size < room ? size : room;
	memcpy(retain->data + retain->length, data, count);
	retain->length += count;
	return count;
}

/* The ring is full: overwrite its oldest bytes. */
static void rotate(struct iso_retain *retain, const uint8_t *data, size_t size)
{
	size_t limit = retain->limit_bytes;
	if (size > limit) {
		data += size - limit;
		size = limit;
	}
	size_t until_end = limit - retain->start;
	size_t first = size < until_end ? size : until_end;
	memcpy(retain->data + retain->start, data, first);
	memcpy(retain->data, data + first, size - first);
	retain->start = (retain->start + size) % limit;
}

int iso_retain_add(struct iso_retain *retain, const void *data, size_t size)
{
	retain->total_bytes += size;
	if (retain->limit_bytes == 0 || size == 0)
		return 0;
	if (reserve(retain, size) < 0)
		return -1;
	size_t taken = append(retain, data, size);
	if (retain->keep == ISO_KEEP_TAIL && taken < size)
		rotate(retain, (const uint8_t *)data + taken, size - taken);
	return 0;
}

static void reverse(uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t swapped = data[i];
		data[i] = data[size - 1 - i];
		data[size - 1 - i] = swapped;
	}
}

/* Rotate in place, so that the oldest byte stands first: three reversals need no second buffer. */
static void straighten(struct iso_retain *retain)
{
	if (retain->start == 0)
		return;
	reverse(retain->data, retain->start);
	reverse(retain->data + retain->start, retain->length - retain->start);
	reverse(retain->data, retain->length);
	retain->start = 0;
}

const uint8_t *iso_retain_finish(struct iso_retain *retain, size_t *ret_size)
{
	straighten(retain);
	size_t skip = 0;
	if (iso_retain_truncated(retain)) {
		if (retain->keep == ISO_KEEP_TAIL)
			skip = iso_utf8_trim_start(retain->data, retain->length);
		else
			retain->length = iso_utf8_trim_end(retain->data, retain->length);
	}
	*ret_size = retain->length - skip;
	return retain->length == 0 ? (const uint8_t *)"" : retain->data + skip;
}

bool iso_retain_truncated(const struct iso_retain *retain)
{
	return retain->total_bytes > retain->length;
}

void iso_retain_done(struct iso_retain *retain)
{
	free(retain->data);
	*retain = (struct iso_retain){0};
}
