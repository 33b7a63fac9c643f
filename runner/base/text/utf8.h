/* UTF-8 as JSON needs it: strict (no surrogates, no overlong forms, nothing above U+10FFFF). */
#ifndef ISORUN_BASE_TEXT_UTF8_H
#define ISORUN_BASE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length (1 to 4) of the valid sequence at `data`, or 0 if there is none. `size` is at least 1. */
size_t iso_utf8_sequence(const uint8_t *data, size_t size);

/* True when all of `data` is valid and holds no NUL, so that it is also a C string. */
bool iso_utf8_is_text(const uint8_t *data, size_t size);

/* `size`, less the bytes of a character that was cut off at the end of `data`. */
size_t iso_utf8_trim_end(const uint8_t *data, size_t size);

/* How many bytes at the start of `data` are the rest of a character that was cut off. */
size_t iso_utf8_trim_start(const uint8_t *data, size_t size);

/* Characters in `data`; a byte that is no part of one counts as one. */
size_t iso_utf8_count(const uint8_t *data, size_t size);

/* Where character number `index` begins; `size` when there are fewer. */
size_t iso_utf8_offset(const uint8_t *data, size_t size, size_t index);

/* A C string in which each byte that is not text became U+FFFD; NULL when out of memory. */
char *iso_utf8_replace(const uint8_t *data, size_t size);

#endif
