/* Requests as the library works with them, and their fingerprint: what makes two of them the
 * same. */
#ifndef ISORUN_PLAN_REQUEST_H
#define ISORUN_PLAN_REQUEST_H

#include "runner/isorun.h"

/* A program's request in this library's own shape. */
struct iso_request_read {
	struct iso_request request;
	struct iso_mount *mounts; /* owned; where the program's have another size, else NULL */
};

/* Errors: ISO_ERR_INVALID (made for a newer library, or not initialised), ISO_ERR_NOMEM. */
int iso_request_read(const struct iso_request *given, struct iso_request_read *ret_read,
		     struct iso_error *err);

/* A zeroed value is fine. */
void iso_request_read_done(struct iso_request_read *read);

/*
 * The request as canonical JSON `["run",{…}]`: sorted keys, no white space. Its SHA-256 is the
 * receipt's request_sha256 (RCPT-2). Descriptors are no part of it; defaults are null. The
 * caller frees `*ret_json`.
 */
int iso_request_print(const struct iso_request *request, char **ret_json, struct iso_error *err);

#endif
