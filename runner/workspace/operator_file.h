/*
 * Files that the operator names and isorun obeys: policies, seccomp profiles, keys. They are read
 * once, whole, as the object that the name meant, and never from where a payload can write (POL-1).
 */
#ifndef ISORUN_WORKSPACE_OPERATOR_FILE_H
#define ISORUN_WORKSPACE_OPERATOR_FILE_H

#include <stddef.h>

#include "runner/workspace/named_path.h"

struct iso_operator_file {
	struct iso_named_path named; /* owned; the object */
	char *text;		     /* owned; NUL-terminated */
	size_t size;
};

/*
 * Read a regular file of at most `limit` bytes.
 *
 * what  completes "open … \"path\"", e.g. "the policy"
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_NOMEM.
 */
int iso_operator_file_read(const char *path, const char *what, size_t limit,
			   struct iso_operator_file *ret_file, struct iso_error *err);

/* A zeroed value is fine. */
void iso_operator_file_done(struct iso_operator_file *file);

#endif
