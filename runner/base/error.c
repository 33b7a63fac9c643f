/* Formatting of error values. The POSIX strerror_r, which every libc has, is thread-safe. */
#undef _GNU_SOURCE /* glibc has another function of that name */
#define _POSIX_C_SOURCE 200809L
#include "runner/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int iso_error_set(struct iso_error *err, enum iso_code code, int os_errno, const char *format, ...)
{
	if (err == NULL)
		return -1;
	err->code = code;
	err->os_errno = os_errno;
	err->hint[0] = '\0';

	va_list args;
	va_start(args, format);
	int length = vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	if (os_errno != 0 && length >= 0 && (size_t)length < sizeof(err->message)) {
		char reason[128];
		if (strerror_r(os_errno, reason, sizeof(reason)) != 0)
			snprintf(reason, sizeof(reason), "error %d", os_errno);
		snprintf(err->message + length, sizeof(err->message) - (size_t)length, ": %s",
			 reason);
	}
	return -1;
}

int iso_error_nomem(struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_NOMEM, ENOMEM, "allocate memory");
}

int iso_error_hint(struct iso_error *err, const char *format, ...)
{
	if (err == NULL)
		return -1;
	va_list args;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return -1;
}
