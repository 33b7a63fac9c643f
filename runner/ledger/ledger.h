/*
 * The desk where every request ends: its result becomes a line of the audit log, and then a receipt
 * that says whether it was recorded (AUD, RCPT-1). The faces have no other way to make a receipt.
 */
#ifndef ISORUN_LEDGER_LEDGER_H
#define ISORUN_LEDGER_LEDGER_H

#include <stdbool.h>

#include "audit/log.h"
#include "runner/engine/receipt.h"
#include "runner/workspace/writable.h"

struct iso_ledger {
	bool has_log;
	struct iso_audit_log log;
};

struct iso_ledger_options {
	const char *log_path; /* file to append to; NULL: none */
	const char *key_path; /* Ed25519 private key that signs the lines; NULL: none. Not
			* without a log. */
	const struct iso_writable *writable; /* neither file may lie there; NULL: no matter */
	bool no_sync;			     /* a line counts as recorded before it is on disk */
};

/* Errors: ISO_ERR_INVALID, ISO_ERR_SYSTEM, ISO_ERR_NOMEM. A zeroed ledger is open, without a
 * log. */
int iso_ledger_open(const struct iso_ledger_options *options, struct iso_ledger *ret_ledger,
		    struct iso_error *err);

/* Nobody uses it any more; a zeroed value is fine. */
void iso_ledger_close(struct iso_ledger *ledger);

/*
 * For a policy that requires a log (AUD-4): there is one, and it has room for the line. Call it
 * before anything runs. Errors: ISO_ERR_DENIED. Thread-safe.
 */
int iso_ledger_require(struct iso_ledger *ledger, struct iso_error *err);

/* What the desk is told of a request, beyond its result. */
struct iso_ledger_entry {
	const char *tool;	   /* static; the tool's own name, never a caller's words */
	const char *policy_sha256; /* borrowed; NULL: no policy */
	const char *request_json;  /* borrowed; canonical; NULL: the result's own, if it has one */
	int64_t received_mono_ns;  /* when it came: what did not run took this long */
};

/*
 * Finish a request: fill in what the result does not know itself, record it, print its receipt,
 * which the caller frees. That it could not be recorded is in the receipt, and no error.
 *
 * Errors: ISO_ERR_NOMEM. Thread-safe on distinct results.
 */
int iso_ledger_finish(struct iso_ledger *ledger, const struct iso_ledger_entry *entry,
		      iso_result *result, char **ret_receipt, struct iso_error *err);

#endif
