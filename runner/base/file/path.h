/* Lexical work on paths; nothing here touches the file system. Thread-safe. */
#ifndef ISORUN_BASE_FILE_PATH_H
#define ISORUN_BASE_FILE_PATH_H

#include <stdbool.h>

/* True when `path` is absolute and holds no empty, "." or ".." component and no trailing slash. */
bool iso_path_is_normal(const char *path);

/* True when `path` is `root` or lies below it; both normal, or both relative to one directory ("/"
 * and "" are above everything). */
bool iso_path_is_beneath(const char *path, const char *root);

/* A normal copy of the absolute `path`: empty and "." components removed. NULL with errno:
 * EINVAL when it is relative or holds a ".." (which only the file system can resolve), ENOMEM. */
char *iso_path_normalise(const char *path);

/* The last component of `path`, in it; "" when it ends in a slash. */
const char *iso_path_name(const char *path);

/* What stands before that, as text that the caller frees: "." when nothing does; NULL when out of
 * memory. */
char *iso_path_directory(const char *path);

#endif
