/* Directories and files that the caller named: opened once, and known from then on by descriptor,
 * canonical path and inode. */
#ifndef ISORUN_WORKSPACE_NAMED_PATH_H
#define ISORUN_WORKSPACE_NAMED_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"

struct iso_named_path {
	int fd;	    /* owned; O_PATH */
	char *path; /* owned; canonical, absolute */
	uint32_t mode;
	uint32_t uid, gid;
	uint64_t dev, ino, nlink;
};

/* `what` completes "open … \"path\"", e.g. "the workspace". Errors: ISO_ERR_INVALID. */
int iso_named_path_open(const char *path, const char *what, struct iso_named_path *ret_named,
			struct iso_error *err);

/* The same for what is open already: `fd` is borrowed, `path` only its name in messages. */
int iso_named_path_of(int fd, const char *path, const char *what, struct iso_named_path *ret_named,
		      struct iso_error *err);

/* What they say in `err` when `path` could not be opened, by errno. Returns -1. */
int iso_named_path_refuse(const char *path, const char *what, struct iso_error *err);

/* Release it; a zeroed value is fine. */
void iso_named_path_done(struct iso_named_path *named);

/* Whether `path` is the canonical path of a directory. */
bool iso_named_path_is_directory(const char *path);

#endif
