/* Contexts are nettle's own; this only spares every caller the printing. */
#include "runner/base/digest.h"

#include <nettle/base16.h>

void iso_sha256_print(const uint8_t digest[SHA256_DIGEST_SIZE], char ret_hex[ISO_SHA256_HEX_SIZE])
{
	base16_encode_update(ret_hex, SHA256_DIGEST_SIZE, digest);
	ret_hex[ISO_SHA256_HEX_SIZE - 1] = '\0';
}

void iso_sha256_read(const char *hex, uint8_t ret_digest[SHA256_DIGEST_SIZE])
{
	struct base16_decode_ctx decoder;
	size_t size = SHA256_DIGEST_SIZE;
	base16_decode_init(&decoder);
	base16_decode_update(&decoder, &size, ret_digest, ISO_SHA256_HEX_SIZE - 1, hex);
}

void iso_sha256_finish(struct sha256_ctx *context, char ret_hex[ISO_SHA256_HEX_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_digest(context, sizeof(digest), digest);
	iso_sha256_print(digest, ret_hex);
}

void iso_sha256_hex(const void *data, size_t size, char ret_hex[ISO_SHA256_HEX_SIZE])
{
	struct sha256_ctx context;
	sha256_init(&context);
	sha256_update(&context, size, data);
	iso_sha256_finish(&context, ret_hex);
}
