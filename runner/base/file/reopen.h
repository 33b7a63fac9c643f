/*
 * The object behind a descriptor, by way of /proc/self/fd: opened anew, named, or asked where it
 * is. None of this resolves a path that somebody else could change. Thread-safe.
 * Source: proc(5), "/proc/pid/fd/".
 */
#ifndef ISORUN_BASE_FILE_REOPEN_H
#define ISORUN_BASE_FILE_REOPEN_H

#include <stddef.h>
#include <sys/types.h>

/* Open the object of `fd` (O_PATH will do) with `flags`, close-on-exec, above the standard streams.
 * A descriptor that the caller owns, or -1 with errno. */
int iso_reopen(int fd, int flags);

/* The path of the object of `fd` as the kernel knows it now, NUL-terminated. Its length, or -1 with
 * errno (ENAMETOOLONG when it does not fit). */
ssize_t iso_reopen_path(int fd, char *ret_path, size_t size);

/* Give the object of `fd`, a file without a name, the free name `name` in `dir_fd`; 0, or -1 with
 * errno (EEXIST). */
int iso_reopen_link(int fd, int dir_fd, const char *name);

#endif
