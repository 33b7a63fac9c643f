/*
 * What Debian's static libraries, which were compiled against glibc, expect of a libc and musl does
 * not have: the checking variants of printf that _FORTIFY_SOURCE calls. libcap prints names with
 * them, nettle and libseccomp only when they are debugged.
 */
#include <features.h>

#ifndef __GLIBC__

#include <stdarg.h>
#include <stdio.h>

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int __sprintf_chk(char *text, int flag, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int __asprintf_chk(char **ret_text, int flag, const char *format, ...)
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

int __sprintf_chk(char *text, int flag, size_t size, const char *format, ...)
{
	va_list args;
	(void)flag;
	va_start(args, format);
	int result = vsnprintf(text, size, format, args);
	va_end(args);
	return result;
}

int __asprintf_chk(char **ret_text, int flag, const char *format, ...)
{
	va_list args;
	(void)flag;
	va_start(args, format);
	int result = vasprintf(ret_text, format, args);
	va_end(args);
	return result;
}

#endif
