/* The keys that the operator names, for every command that signs or verifies. */
#ifndef ISORUN_LEDGER_KEY_H
#define ISORUN_LEDGER_KEY_H

#include <stdbool.h>

#include "audit/sign.h"
#include "runner/workspace/writable.h"

/*
 * Read the key file `path`.
 *
 * writable   where the key must not lie; NULL: no matter
 * must_sign  a public key does not do
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_NOMEM.
 */
int iso_audit_key_load(const char *path, const struct iso_writable *writable, bool must_sign,
		       struct iso_audit_key *ret_key, struct iso_error *err);

#endif
