/* Small file descriptor helpers that retry EINTR and never leave half a result. Thread-safe. */
#ifndef ISORUN_BASE_FILE_FD_H
#define ISORUN_BASE_FILE_FD_H

#include <stddef.h>
#include <sys/types.h>

/* Close `fd` if it is one; keeps errno. Returns -1, so that `fd = iso_fd_close(fd)` forgets it. */
int iso_fd_close(int fd);

/*
 * Move `fd` to a number above the standard streams, close-on-exec, when it is 0, 1 or 2 (a caller
 * may have been started with those closed). Takes ownership of `fd`; returns the descriptor, or -1
 * with errno when it could not be moved (and `fd` is closed) or was already negative.
 */
int iso_fd_above_stdio(int fd);

/* Read without waiting, whatever flags the descriptor has, which may be shared with others: as
 * read(2), -1 with EAGAIN when there is nothing. */
ssize_t iso_fd_read_now(int fd, void *data, size_t size);

/* Write all of `data`; 0, or -1 with errno: EPIPE and EFBIG come without their signals. */
int iso_fd_write_all(int fd, const void *data, size_t size);

/*
 * Read a small text file (procfs, cgroupfs) whole and NUL-terminate it.
 *
 * dir_fd, path  as in openat(2)
 * buffer, size  at least 2 bytes; the file may hold at most size - 1
 *
 * Returns the length, or -1 with errno (EFBIG when the file is larger).
 */
ssize_t iso_fd_read_small(int dir_fd, const char *path, char *buffer, size_t size);

/* Read to the end into NUL-terminated memory that the caller frees; 0, or -1 with errno (EFBIG when
 * there are more than `limit` bytes). */
int iso_fd_read_all(int fd, size_t limit, char **ret_data, size_t *ret_size);

/* Write a string to an existing control file in one write(2); 0, or -1 with errno. */
int iso_fd_write_control(int dir_fd, const char *path, const char *text);

#endif
