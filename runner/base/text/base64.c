/* Printing decoded bytes again is the whole check for the canonical spelling. */
#include "runner/base/text/base64.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"

char *iso_base64(const void *data, size_t size)
{
	char *text = malloc(BASE64_ENCODE_RAW_LENGTH(size) + 1);
	if (text == NULL)
		return NULL;
	base64_encode_raw(text, size, data);
	text[BASE64_ENCODE_RAW_LENGTH(size)] = '\0';
	return text;
}

bool iso_base64_decode(const char *text, size_t length, uint8_t *ret_data, size_t size)
{
	if (length != BASE64_ENCODE_RAW_LENGTH(size))
		return false;
	struct base64_decode_ctx decoder;
	ISO_AUTO_FREE uint8_t *data = malloc(BASE64_DECODE_LENGTH(length) + 1);
	size_t decoded = BASE64_DECODE_LENGTH(length);
	base64_decode_init(&decoder);
	if (data == NULL || !base64_decode_update(&decoder, &decoded, data, length, text) ||
	    !base64_decode_final(&decoder) || decoded != size)
		return false;
	/* Several spellings decode to the same bytes; only ours counts. */
	ISO_AUTO_FREE char *again = iso_base64(data, size);
	if (again == NULL || memcmp(again, text, length) != 0)
		return false;
	memcpy(ret_data, data, size);
	return true;
}
