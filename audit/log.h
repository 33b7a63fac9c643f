/*
 * The log file: appended to by any number of processes, one at a time under its lock (AUD-4).
 * A line that a crash or a full disk left torn is removed by the next append, which says so.
 */
#ifndef ISORUN_AUDIT_LOG_H
#define ISORUN_AUDIT_LOG_H

#include <pthread.h>
#include <sys/types.h>

#include "audit/record.h"

/* Lines of this process that are written, and how far they are known to be on disk. */
struct iso_audit_sync {
	bool running;			    /* somebody flushes, without the lock */
	pthread_cond_t ended;		    /* it has */
	uint64_t written, on_disk;	    /* counts of lines */
	unsigned int waiting;		    /* threads, for their lines */
	uint64_t failed_first, failed_last; /* no line beyond these is promised; 0: none failed */
	int failed_errno;
	off_t unsynced_from; /* where the first line starts that is not on disk */
};

struct iso_audit_log {
	char *path; /* owned */
	bool sync;  /* each line reaches the disk before its append returns */
	bool has_key;
	struct iso_audit_key key;
	pthread_mutex_t lock; /* of what follows */
	int fd;		      /* owned */
	off_t known_size;     /* of the file when `head` was its head */
	struct iso_audit_head head;
	struct iso_audit_sync flush;
};

/*
 * Open a log, which is created with mode 0600 when it is not there.
 *
 * key  signs every line, or NULL; copied
 *
 * Errors: ISO_ERR_SYSTEM, ISO_ERR_INVALID (not a regular file), ISO_ERR_NOMEM. A log is thread-safe
 * but for open and close, and must not move; any number of logs may be open on one file.
 */
int iso_audit_log_open(const char *path, const struct iso_audit_key *key, bool sync,
		       struct iso_audit_log *ret_log, struct iso_error *err);
void iso_audit_log_close(struct iso_audit_log *log);

/*
 * Append one event. `ret_head` (may be NULL) is where the chain stands then. Lines of several
 * threads that wait for the disk share one flush. On failure the file is as it was; only where it
 * was the flush that failed and others have appended meanwhile, the line stays, unpromised.
 *
 * Errors: ISO_ERR_SYSTEM (a full disk, …); ISO_ERR_INVALID: the file is no log of ours.
 */
int iso_audit_log_append(struct iso_audit_log *log, const struct iso_audit_event *event,
			 struct iso_audit_head *ret_head, struct iso_error *err);

/*
 * Make sure that the next lines will find room: for requests that must not run unrecorded. Errors:
 * ISO_ERR_SYSTEM.
 */
int iso_audit_log_reserve(struct iso_audit_log *log, struct iso_error *err);

/*
 * Go on in a fresh file: the old one is renamed to PATH.LAST-SEQ. The new one starts with a record
 * ("audit.rotate") that continues the chain.
 */
int iso_audit_log_rotate(struct iso_audit_log *log, struct iso_error *err);

#endif
