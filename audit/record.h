/*
 * One line of the audit log (AUD-1, AUD-2):
 *
 *	{"record":R,"hash":"H"}			or, signed,
 *	{"record":R,"hash":"H","sig":"S"}
 *
 * R is a JSON object whose first members are "seq" (from 1) and "prev" (H of the line before; 64
 * zeros for the first). H is the SHA-256 of prev (32 bytes), the length of R (8 bytes, big endian)
 * and R, in hexadecimal. S is the Ed25519 signature of the 32 bytes of H, in base64. Lines are
 * compared byte by byte: there is one spelling of each.
 */
#ifndef ISORUN_AUDIT_RECORD_H
#define ISORUN_AUDIT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "audit/sign.h"
#include "runner/base/digest.h"
#include "runner/isorun.h"

#define ISO_AUDIT_LINE_MAX ((size_t)16384) /* with its newline */

/* What a line records. Strings are borrowed; NULL where unknown. Arguments and output never are. */
struct iso_audit_event {
	const char *id, *tool, *status;
	const char *error_class; /* of the error, without its message */
	const char *request_sha256, *plan_sha256, *policy_sha256, *output_sha256;
	int exit_code; /* or -1 */
	int64_t unix_ms;
	uint64_t torn_bytes; /* of a line that a crash had left, removed before this one */
};

/* Where a chain stands. */
struct iso_audit_head {
	uint64_t seq;			/* of the last line; 0: none */
	char hash[ISO_SHA256_HEX_SIZE]; /* of the last line; zeros: none */
};

/* The head of an empty log. */
void iso_audit_head_init(struct iso_audit_head *ret_head);

/*
 * Print the line that follows `head`, with its newline.
 *
 * key  signs it, or NULL
 *
 * `head` becomes that of the new line. Errors: ISO_ERR_INVALID when it would be too long;
 * ISO_ERR_NOMEM.
 */
int iso_audit_line_print(const struct iso_audit_event *event, const struct iso_audit_key *key,
			 struct iso_audit_head *head, char **ret_line, size_t *ret_size,
			 struct iso_error *err);

/* Whether the text behind the last whole line can be what a crash left of a line: its beginning,
 * zeros where a file system had made room only, or nothing. */
bool iso_audit_line_is_torn(const char *text, size_t size);

/*
 * Check that `line` (without its newline) follows `head`, which becomes that of the line.
 *
 * key     must have signed it; NULL: signatures are not looked at
 * follow  false: `head` is not known (a first line after a rotation); "prev" and "seq" are believed
 *
 * Errors: ISO_ERR_INVALID says what is wrong with it.
 */
int iso_audit_line_check(const char *line, size_t size, const struct iso_audit_key *key,
			 bool follow, struct iso_audit_head *head, struct iso_error *err);

#endif
