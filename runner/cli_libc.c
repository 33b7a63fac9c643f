/*
 * What Debian's static libraries, which were compiled against glibc, expect of a libc and musl does
 * not have. Nothing here is called in normal operation: nettle prints with it when its debugging
 * variable is set.
 */
#include <features.h>

#ifndef __GLIBC__

#include <stdarg.h>
#include <stdio.h>

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	va_list args;
	(void)flag;
	va_start(args, format);
	int result = vfprintf(file, format, args);
	va_end(args);
	return result;
}

#endif
