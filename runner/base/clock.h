/* Monotonic time and deadlines in milliseconds. All functions are thread-safe and cannot fail. */
#ifndef ISORUN_BASE_CLOCK_H
#define ISORUN_BASE_CLOCK_H

#include <stdint.h>

/* A deadline that never comes. */
#define ISO_NEVER INT64_MAX

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t iso_clock_mono_ns(void);

/* CLOCK_REALTIME in milliseconds since the epoch. */
int64_t iso_clock_unix_ms(void);

/* The monotonic time in ns, `after_ms` from `now_ns`; ISO_NEVER when that would overflow. */
int64_t iso_deadline_after(int64_t now_ns, uint64_t after_ms);

/* The earlier of two deadlines. */
int64_t iso_deadline_min(int64_t a_ns, int64_t b_ns);

/* What is left for poll(2): -1 for never, 0 when passed, otherwise milliseconds rounded up. */
int iso_deadline_poll_ms(int64_t deadline_ns, int64_t now_ns);

/* "2026-01-02T03:04:05.678Z" into `ret_text` of at least ISO_TIMESTAMP_SIZE bytes. */
#define ISO_TIMESTAMP_SIZE 32
void iso_clock_format_unix_ms(int64_t unix_ms, char ret_text[ISO_TIMESTAMP_SIZE]);

#endif
