/*
 * A file that gets its name when it is whole. Until then it has none, and nothing is left behind
 * should we be killed; where the file system knows no nameless files it has a random one. One
 * owner, not thread-safe.
 */
#ifndef ISORUN_BASE_FILE_FRESH_FILE_H
#define ISORUN_BASE_FILE_FRESH_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#define ISO_FRESH_NAME_SIZE 64

struct iso_fresh_file {
	int fd;				     /* owned; for writing */
	int dir_fd;			     /* borrowed; where it will be named */
	char temporary[ISO_FRESH_NAME_SIZE]; /* the name that it has for now, or "" */
	const char *prefix;		     /* borrowed; of temporary names */
};

/*
 * Open one in the directory `dir_fd`, which must outlive it.
 *
 * mode    as in open(2)
 * prefix  what a temporary name begins with, at most 30 bytes; static
 *
 * 0, or -1 with errno.
 */
int iso_fresh_file_open(int dir_fd, mode_t mode, const char *prefix,
			struct iso_fresh_file *ret_file);

/*
 * Give it the name `name`, once:
 *
 * iso_fresh_file_create   that must be free; -1 with EEXIST when it is not
 * iso_fresh_file_replace  in place of whatever has it, at once
 *
 * 0, or -1 with errno.
 */
int iso_fresh_file_create(struct iso_fresh_file *file, const char *name);
int iso_fresh_file_replace(struct iso_fresh_file *file, const char *name);

/* Whether `name` in `dir_fd` is what somebody who was killed has left of one with `prefix`: true
 * only for what was made here, for it knows its own inode number. */
bool iso_fresh_file_is_leftover(int dir_fd, const char *name, const char *prefix);

/* Close it; without a name it is gone. Keeps errno; a value with `fd` -1 is fine. */
void iso_fresh_file_done(struct iso_fresh_file *file);

#endif
