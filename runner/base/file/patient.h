/*
 * Opening and looking at what operators name, without being held for ever by a file system that
 * does not answer (runner/base/file/slow.h). What the kernel knows without asking anybody is asked
 * here; everything else by a scout. Thread-safe.
 */
#ifndef ISORUN_BASE_FILE_PATIENT_H
#define ISORUN_BASE_FILE_PATIENT_H

#include <sys/stat.h>

#include "runner/base/patience.h"

/* How long names are looked up, unless somebody says otherwise. */
#define ISO_LOOKUP_LIMIT_MS 10000

/*
 * A path descriptor (O_PATH) of `path`, with `flags` such as O_NOFOLLOW, close-on-exec and above
 * the standard streams, and what stat(2) says of it.
 *
 * patience  borrowed; NULL: the usual limit
 *
 * A descriptor that the caller owns; or -1 with errno: ETIMEDOUT when the file system does not
 * answer, ECANCELED.
 */
int iso_patient_open(const char *path, int flags, const struct iso_patience *patience,
		     struct stat *ret_st);

/* The same from `dir_fd` on, as iso_open_beneath. */
int iso_patient_open_beneath(int dir_fd, const char *path, const struct iso_patience *patience,
			     struct stat *ret_st);

/* What the path descriptor `fd` stands for, opened with `flags` (runner/base/file/reopen.h). */
int iso_patient_reopen(int fd, int flags, const struct iso_patience *patience);

#endif
