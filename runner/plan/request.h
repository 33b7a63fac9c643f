/* The fingerprint of a request: what makes two of them the same. */
#ifndef ISORUN_PLAN_REQUEST_H
#define ISORUN_PLAN_REQUEST_H

#include "runner/isorun.h"

/*
 * The request as canonical JSON `["run",{…}]`: sorted keys, no white space. Its SHA-256 is the
 * receipt's request_sha256 (RCPT-2). Descriptors are no part of it; defaults are null. The
 * caller frees `*ret_json`.
 */
int iso_request_print(const struct iso_request *request, char **ret_json, struct iso_error *err);

#endif
