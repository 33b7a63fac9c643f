/* Standard base64 (RFC 4648) over nettle, padded and without line breaks. Thread-safe. */
#ifndef ISORUN_BASE_TEXT_BASE64_H
#define ISORUN_BASE_TEXT_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `size` bytes as fresh text that the caller frees; NULL: no memory. */
char *iso_base64(const void *data, size_t size);

/* Decode base64 of exactly `size` bytes, in its one canonical spelling. */
bool iso_base64_decode(const char *text, size_t length, uint8_t *ret_data, size_t size);

#endif
