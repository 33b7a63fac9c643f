/* SHA-256 over nettle, as lower-case hex. Thread-safe on distinct contexts. */
#ifndef ISORUN_BASE_DIGEST_H
#define ISORUN_BASE_DIGEST_H

#include <nettle/sha2.h>
#include <stddef.h>

#define ISO_SHA256_HEX_SIZE (2 * SHA256_DIGEST_SIZE + 1)

/* A digest in hex, and back; `hex` must be 64 hexadecimal digits. */
void iso_sha256_print(const uint8_t digest[SHA256_DIGEST_SIZE], char ret_hex[ISO_SHA256_HEX_SIZE]);
void iso_sha256_read(const char *hex, uint8_t ret_digest[SHA256_DIGEST_SIZE]);

/* For what may have no digest: `hex`, or NULL when it is "". */
static inline const char *iso_sha256_or_null(const char *hex)
{
	return *hex != '\0' ? hex : NULL;
}

/* End the computation in `context` (which is reset) and print the digest. */
void iso_sha256_finish(struct sha256_ctx *context, char ret_hex[ISO_SHA256_HEX_SIZE]);

/* The digest of `size` bytes at `data`. */
void iso_sha256_hex(const void *data, size_t size, char ret_hex[ISO_SHA256_HEX_SIZE]);

#endif
