/* Formatting of error values. The POSIX strerror_r, which every libc has, is thread-safe. */
#undef _GNU_SOURCE /* glibc has another function of that name */
#define _POSIX_C_SOURCE 200809L
#include "runner/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/array.h"

char *iso_errno_text(int os_errno, char ret_text[ISO_ERRNO_TEXT_SIZE])
{
	if (strerror_r(os_errno, ret_text, ISO_ERRNO_TEXT_SIZE) != 0)
		snprintf(ret_text, ISO_ERRNO_TEXT_SIZE, "error %d", os_errno);
	return ret_text;
}

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
		char reason[ISO_ERRNO_TEXT_SIZE];
		iso_errno_text(os_errno, reason);
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

static const char *const class_names[] = {
	[ISO_CLASS_NONE] = "",
	[ISO_CLASS_INVALID] = "Invalid",
	[ISO_CLASS_DENIED] = "Denied",
	[ISO_CLASS_LAUNCH_FAILED] = "LaunchFailed",
	[ISO_CLASS_COMMAND_NOT_FOUND] = "CommandNotFound",
	[ISO_CLASS_COMMAND_NOT_EXECUTABLE] = "CommandNotExecutable",
	[ISO_CLASS_COMMAND_FAILED] = "CommandFailed",
	[ISO_CLASS_COMMAND_SIGNALED] = "CommandSignaled",
	[ISO_CLASS_TIMEOUT] = "Timeout",
	[ISO_CLASS_MEMORY_LIMIT] = "MemoryLimit",
	[ISO_CLASS_CANCELLED] = "Cancelled",
	[ISO_CLASS_OUTPUT_LOST] = "OutputLost",
	[ISO_CLASS_TOOL_FAILED] = "ToolFailed",
	[ISO_CLASS_INTERNAL_ERROR] = "InternalError",
};

const char *iso_class_name(enum iso_class error_class)
{
	return (size_t)error_class < ISO_COUNT(class_names) ? class_names[error_class] : "";
}
