/* From what was observed to how it is called: status, exit code, reason. Pure. */
#ifndef ISORUN_SANDBOX_WATCH_CLASSIFY_H
#define ISORUN_SANDBOX_WATCH_CLASSIFY_H

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/plan.h"
#include "sandbox/watch/supervise.h"

struct iso_outcome {
	enum iso_status status;
	int exit_code;		    /* of `isorun run` */
	int payload_exit;	    /* the payload's own code, or -1 */
	int payload_signal;	    /* what ended the payload, or 0 */
	enum iso_class error_class; /* ISO_CLASS_NONE when completed */
	struct iso_error error;	    /* code ISO_OK when completed */
};

/*
 * Name an ending.
 *
 * usage  counters of the cgroup, ISO_UNKNOWN where there are none
 */
void iso_classify(const struct iso_plan *plan, const struct iso_ending *ending,
		  const struct iso_cgroup_usage *usage, struct iso_outcome *ret_outcome);

/* The outcome of a request that a signal ended before its launch. */
void iso_classify_cancelled_early(int signal_number, struct iso_outcome *ret_outcome);

/* The outcome of a request that was refused or failed before its launch. */
void iso_classify_refused(const struct iso_error *reason, struct iso_outcome *ret_outcome);

/* "SIGSEGV" and so on, "SIG<number>" for one without a name; into a caller's buffer. */
#define ISO_SIGNAL_NAME_SIZE 16
void iso_signal_name(int number, char ret_name[ISO_SIGNAL_NAME_SIZE]);

#endif
