/* Opening beneath a directory, whatever the path and the links on it say. Source: openat2(2). */
#ifndef ISORUN_BASE_FILE_BENEATH_H
#define ISORUN_BASE_FILE_BENEATH_H

/*
 * Open `path` from `dir_fd` with `flags`, close-on-exec, above the standard streams. No link, no
 * ".." and no magic link may lead out of that directory. A rename meanwhile, which makes the kernel
 * unsure, is met by asking again, within bounds.
 *
 * Returns a descriptor that the caller owns, or -1 with errno: EXDEV when it would lead out, ELOOP
 * for a magic link. Thread-safe.
 */
int iso_open_beneath(int dir_fd, const char *path, int flags);

/* The same, but a link anywhere in `path` is refused (ELOOP). */
int iso_open_without_links(int dir_fd, const char *path, int flags);

#endif
