/*
 * Strict numbers, sizes and durations from text. Nothing is rounded, wrapped or guessed: leading
 * blanks, signs, fractions, trailing text and overflow are refused. Thread-safe.
 */
#ifndef ISORUN_BASE_TEXT_PARSE_H
#define ISORUN_BASE_TEXT_PARSE_H

#include <stdint.h>

/* Decimal digits only, 0 to UINT64_MAX; 0, or -1. `ret_value` is untouched on failure. */
int iso_parse_u64(const char *text, uint64_t *ret_value);

/* As iso_parse_u64 within [minimum, maximum]. */
int iso_parse_u64_range(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *ret_value);

/* A size in bytes: digits and an optional K, M or G (powers of 1024, either case); at least 1. */
int iso_parse_size(const char *text, uint64_t *ret_bytes);

/* A duration in ms: digits (with an optional decimal fraction) and an optional ms, s (default), m
 * or h. It must be a whole number of milliseconds, at least 1, and at most INT64_MAX / 10^6. */
int iso_parse_duration(const char *text, uint64_t *ret_ms);

/* Processor count such as "2" or "0.5" in thousandths of a CPU, 1 to 1,024,000. */
int iso_parse_cpus(const char *text, uint64_t *ret_millicpu);

#endif
