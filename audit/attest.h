/*
 * A receipt as an in-toto statement (v1) with SLSA provenance (v1), in a DSSE envelope (AUD-3). See
 * https://github.com/in-toto/attestation and https://github.com/secure-systems-lab/dsse.
 */
#ifndef ISORUN_AUDIT_ATTEST_H
#define ISORUN_AUDIT_ATTEST_H

#include "audit/sign.h"
#include "runner/isorun.h"

/*
 * Print the envelope for `receipt`, the text of a receipt, signed by `key`. The caller frees.
 *
 * Errors: ISO_ERR_INVALID: it is no receipt; ISO_ERR_NOMEM.
 */
int iso_attest(const char *receipt, size_t size, const struct iso_audit_key *key, char **ret_json,
	       struct iso_error *err);

#endif
