/* Holding a log against itself, a public key and a checkpoint (AUD-2, AUD-3). */
#ifndef ISORUN_AUDIT_VERIFY_H
#define ISORUN_AUDIT_VERIFY_H

#include "audit/record.h"

/* What is known of a log from elsewhere. */
struct iso_audit_checkpoint {
	uint64_t seq;
	char hash[ISO_SHA256_HEX_SIZE];
};

struct iso_audit_verdict {
	struct iso_audit_head head; /* of the last good line */
	uint64_t line;		    /* the first bad one, from 1, in its file; 0: none */
	size_t file;		    /* index of the file it is in */
	char reason[512];	    /* what is wrong with it */
	bool checkpoint_seen;	    /* the log has the checkpoint's line */
};

/*
 * Verify the files of one log, oldest first.
 *
 * key         every line must be signed by it; NULL: signatures are not looked at
 * checkpoint  the log must contain it; NULL: none is known
 *
 * Returns 0 when all is well; -1 with ISO_ERR_INVALID and `ret_verdict` filled when it is not;
 * ISO_ERR_SYSTEM when a file cannot be read, ISO_ERR_NOMEM.
 */
int iso_audit_verify(const char *const *paths, size_t path_count, const struct iso_audit_key *key,
		     const struct iso_audit_checkpoint *checkpoint,
		     struct iso_audit_verdict *ret_verdict, struct iso_error *err);

/*
 * A signed checkpoint of `head`, in the form of a C2SP signed note: three lines (`origin`, the
 * number of the last line, its hash in base64), an empty one, and the signature. The caller frees.
 */
int iso_audit_checkpoint_print(const char *origin, const struct iso_audit_head *head,
			       const struct iso_audit_key *key, char **ret_text,
			       struct iso_error *err);

/* Read one, whose signature must be of `key`. Errors: ISO_ERR_INVALID. */
int iso_audit_checkpoint_parse(const char *text, const struct iso_audit_key *key,
			       struct iso_audit_checkpoint *ret_checkpoint, struct iso_error *err);

#endif
