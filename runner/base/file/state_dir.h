/*
 * A directory of small files that outlive this process, with a bound on how many and how old they
 * get: a daemon that lives for months tidies as it goes. Thread-safe but for open and close.
 */
#ifndef ISORUN_BASE_FILE_STATE_DIR_H
#define ISORUN_BASE_FILE_STATE_DIR_H

#include <stdatomic.h>
#include <stddef.h>

#include "runner/isorun.h"

struct iso_state_dir {
	int fd;			/* owned; or -1: there is none */
	size_t count_max;	/* fewer files are left alone, however old */
	unsigned int age_min_s; /* younger ones are left alone, however many */
	atomic_uint added;	/* since it was last tidied */
};

/*
 * Open `path`/`name`, made with mode 0700 where it is missing, and tidy it.
 *
 * Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_state_dir_open(const char *path, const char *name, size_t count_max, unsigned int age_min_s,
		       struct iso_state_dir *ret_dir, struct iso_error *err);

/* A file has been added; now and then that means to remove old ones. */
void iso_state_dir_added(struct iso_state_dir *dir);

/* A value with `fd` -1 is fine. */
void iso_state_dir_close(struct iso_state_dir *dir);

#endif
