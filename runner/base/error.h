/*
 * Errors are values: the caller allocates a `struct iso_error`, the callee fills it and returns -1.
 * Nothing at this level prints, logs or exits.
 */
#ifndef ISORUN_BASE_ERROR_H
#define ISORUN_BASE_ERROR_H

#include "runner/isorun.h"

/*
 * Fill `err` and return -1, so that a failing function can `return iso_error_set(…)`.
 *
 * code      what kind of failure
 * os_errno  an errno value, or 0; when it is set, ": " and its text end the message
 * format    attempt and object, e.g. "open cgroup \"%s\"": lower case, no full stop
 *
 * `err` may be NULL. Thread-safe. A message that does not fit is cut.
 */
int iso_error_set(struct iso_error *err, enum iso_code code, int os_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The text for an errno value, into a caller's buffer, which is returned. Thread-safe. */
#define ISO_ERRNO_TEXT_SIZE 128
char *iso_errno_text(int os_errno, char ret_text[ISO_ERRNO_TEXT_SIZE]);

/* Out of memory, reported like anything else. Returns -1. */
int iso_error_nomem(struct iso_error *err);

/* Add what the operator can do about it, printed as a second line. Returns -1. */
int iso_error_hint(struct iso_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
