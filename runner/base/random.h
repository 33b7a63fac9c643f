/* Names and secrets of random bytes (getrandom), as text. Thread-safe. */
#ifndef ISORUN_BASE_RANDOM_H
#define ISORUN_BASE_RANDOM_H

#include <nettle/base64.h>
#include <stddef.h>

#define ISO_RANDOM_MAX 32 /* bytes */

/* The sizes, with the NUL, of the texts for `bytes` random bytes. */
#define ISO_RANDOM_HEX_SIZE(bytes)	 (2 * (bytes) + 1)
#define ISO_RANDOM_BASE64URL_SIZE(bytes) (BASE64_ENCODE_RAW_LENGTH(bytes) + 1)

/* `bytes` (at most ISO_RANDOM_MAX) random bytes in lower-case hex; 0, or -1 with errno. */
int iso_random_hex(size_t bytes, char *ret_text);

/* The same in base64url (RFC 4648), padded. */
int iso_random_base64url(size_t bytes, char *ret_text);

#endif
