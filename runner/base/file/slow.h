/*
 * File systems that may keep a caller waiting for ever: behind them stands another program, or
 * another machine, that need not answer. What kind a mount is the kernel says without asking it.
 * Thread-safe.
 */
#ifndef ISORUN_BASE_FILE_SLOW_H
#define ISORUN_BASE_FILE_SLOW_H

#include <stdbool.h>

#include "runner/base/file/stat.h"

/* Whether the file system of `fd` is of such a kind, or of one that is not known. */
bool iso_slow_is(int fd);

/* The same of the mount with that id. */
bool iso_slow_is_mount(const struct iso_mount_id *id);

/* Whether this process sees any such mount at all. */
bool iso_slow_exists(void);

/* Whether one whose mount point cannot even be looked at from outside is at or below the canonical
 * `path`, or holds it: that of a network file system. */
bool iso_slow_is_near(const char *path);

/* The mount point of any such mount at or below the canonical `path`, or of the one that holds
 * it, for the caller to free; NULL when there is none that is known. For messages. */
char *iso_slow_find(const char *path);

#endif
