/* One decoder; everything else is a loop over it. */
#include "runner/base/text/utf8.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT	 "\xEF\xBF\xBD"
#define REPLACEMENT_SIZE 3

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xC0) == 0x80;
}

/* What a lead byte promises: 1 to 4, or 0 when it cannot start a character. */
static size_t promised_length(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xC2)
		return 0; /* a continuation byte, or an overlong two-byte form */
	if (lead < 0xE0)
		return 2;
	if (lead < 0xF0)
		return 3;
	return lead < 0xF5 ? 4 : 0;
}

size_t iso_utf8_sequence(const uint8_t *data, size_t size)
{
	size_t length = promised_length(data[0]);
	if (length == 0 || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (!is_continuation(data[i]))
			return 0;
	}
	if (length == 3 && ((data[0] == 0xE0 && data[1] < 0xA0)	     /* overlong */
			    || (data[0] == 0xED && data[1] > 0x9F))) /* surrogates */
		return 0;
	if (length == 4 && ((data[0] == 0xF0 && data[1] < 0x90)	     /* overlong */
			    || (data[0] == 0xF4 && data[1] > 0x8F))) /* above U+10FFFF */
		return 0;
	return length;
}

bool iso_utf8_is_text(const uint8_t *data, size_t size)
{
	while (size > 0) {
		size_t length = iso_utf8_sequence(data, size);
		if (length == 0 || data[0] == '\0')
			return false;
		data += length;
		size -= length;
	}
	return true;
}

size_t iso_utf8_trim_end(const uint8_t *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		uint8_t byte = data[size - back];
		if (is_continuation(byte))
			continue;
		return promised_length(byte) > back ? size - back : size;
	}
	return size;
}

size_t iso_utf8_trim_start(const uint8_t *data, size_t size)
{
	size_t skip = 0;
	while (skip < size && skip < 3 && is_continuation(data[skip]))
		skip++;
	return skip;
}

char *iso_utf8_replace(const uint8_t *data, size_t size)
{
	char *text = malloc(size * REPLACEMENT_SIZE + 1);
	if (text == NULL)
		return NULL;
	char *cursor = text;
	while (size > 0) {
		size_t length = iso_utf8_sequence(data, size);
		if (length == 0 || data[0] == '\0') {
			memcpy(cursor, REPLACEMENT, REPLACEMENT_SIZE);
			cursor += REPLACEMENT_SIZE;
			length = 1;
		} else {
			memcpy(cursor, data, length);
			cursor += length;
		}
		data += length;
		size -= length;
	}
	*cursor = '\0';
	return text;
}

size_t iso_utf8_offset(const uint8_t *data, size_t size, size_t index)
{
	size_t at = 0;
	for (; at < size && index > 0; index--) {
		size_t step = iso_utf8_sequence(data + at, size - at);
		at += step > 0 ? step : 1;
	}
	return at;
}

size_t iso_utf8_count(const uint8_t *data, size_t size)
{
	size_t count = 0;
	for (size_t at = 0; at < size; count++) {
		size_t step = iso_utf8_sequence(data + at, size - at);
		at += step > 0 ? step : 1;
	}
	return count;
}
