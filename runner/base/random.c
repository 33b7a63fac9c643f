/* So few bytes come whole or not at all: getrandom(2) interrupts only longer requests. */
#include "runner/base/random.h"

#include <nettle/base16.h>
#include <sys/random.h>

int iso_random_hex(size_t bytes, char *ret_text)
{
	uint8_t random[ISO_RANDOM_MAX];
	if (getrandom(random, bytes, 0) != (ssize_t)bytes)
		return -1;
	base16_encode_update(ret_text, bytes, random);
	ret_text[2 * bytes] = '\0';
	return 0;
}

int iso_random_base64url(size_t bytes, char *ret_text)
{
	uint8_t random[ISO_RANDOM_MAX];
	struct base64_encode_ctx encoder;
	if (getrandom(random, bytes, 0) != (ssize_t)bytes)
		return -1;
	base64url_encode_init(&encoder);
	size_t length = base64_encode_update(&encoder, ret_text, bytes, random);
	length += base64_encode_final(&encoder, ret_text + length);
	ret_text[length] = '\0';
	return 0;
}
