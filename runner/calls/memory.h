/*
 * The memory of call ids (RCPT-2): the first call with an id runs, later ones get its receipt,
 * those at the same time wait for it. In this process always; in a directory, among processes and
 * across restarts, when there is one.
 */
#ifndef ISORUN_CALLS_MEMORY_H
#define ISORUN_CALLS_MEMORY_H

#include <pthread.h>

#include "runner/base/digest.h"
#include "runner/base/file/state_dir.h"
#include "runner/isorun.h"

#define ISO_CALLS_IN_MEMORY 1024
#define ISO_CALLS_ON_DISK   10000
#define ISO_CALL_ID_MAX	    256

struct iso_remembered {
	char id[ISO_SHA256_HEX_SIZE];	       /* digest of the id; "": unused */
	char fingerprint[ISO_SHA256_HEX_SIZE]; /* digest of the call */
	char *receipt;			       /* owned; NULL while it runs */
	int exit_code;
};

struct iso_call_memory {
	pthread_mutex_t lock;
	pthread_cond_t finished;
	struct iso_remembered *calls; /* owned; a ring */
	size_t next;
	struct iso_state_dir state; /* where they outlive this process */
};

/* state_dir may be NULL. Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM. */
int iso_call_memory_open(const char *state_dir, struct iso_call_memory *ret_memory,
			 struct iso_error *err);
void iso_call_memory_close(struct iso_call_memory *memory);

/* What a call ended in. */
struct iso_answer {
	char *receipt; /* owned; JSON text */
	int exit_code;
};

/* One call that is to run, between begin and end. */
struct iso_call_ticket {
	char id[ISO_SHA256_HEX_SIZE]; /* "": the call has no id */
	char fingerprint[ISO_SHA256_HEX_SIZE];
	int fd; /* owned; locked file, or -1 */
};

/*
 * Begin a call: returns 1 when it is to run (then iso_call_memory_end must follow), 0 with the
 * first answer, whose receipt the caller frees, when it has run. May wait for another one.
 *
 * call_id    or NULL
 * canonical  the call's canonical text
 *
 * Errors: -1 with ISO_ERR_INVALID "Idempotency key reused for different operation", or an id that
 * is too long; ISO_ERR_DENIED: the first one was interrupted, its outcome is not known;
 * ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_call_memory_begin(struct iso_call_memory *memory, const char *call_id,
			  const char *canonical, struct iso_call_ticket *ret_ticket,
			  struct iso_answer *ret_answer, struct iso_error *err);

/* End a call with its answer; a receipt of NULL: none could be made, and it is forgotten here. */
void iso_call_memory_end(struct iso_call_memory *memory, struct iso_call_ticket *ticket,
			 const struct iso_answer *answer);

#endif
