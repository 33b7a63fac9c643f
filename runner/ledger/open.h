/* The audit log and the key that the operator names, for every command that records. */
#ifndef ISORUN_LEDGER_OPEN_H
#define ISORUN_LEDGER_OPEN_H

#include <stdbool.h>

#include "audit/log.h"

/*
 * Read the key file `path`.
 *
 * workspace  canonical directory in which the key must not lie, or NULL
 * must_sign  a public key does not do
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_NOMEM.
 */
int iso_audit_key_load(const char *path, const char *workspace, bool must_sign,
		       struct iso_audit_key *ret_key, struct iso_error *err);

/*
 * Open the log `path` for appending; iso_audit_log_close closes it.
 *
 * key_path   key that signs the lines, or NULL
 * workspace  canonical directory in which neither may lie, or NULL
 * sync       a line is on disk before it counts as recorded
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_audit_open(const char *path, const char *key_path, const char *workspace, bool sync,
		   struct iso_audit_log *ret_log, struct iso_error *err);

/*
 * For a policy that requires a log (AUD-4): there is one, and it has room for the line. Call it
 * before anything runs.
 *
 * log  or NULL: none is open
 *
 * Errors: ISO_ERR_DENIED. Not thread-safe on one log.
 */
int iso_audit_require(struct iso_audit_log *log, struct iso_error *err);

#endif
