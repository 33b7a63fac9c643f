/*
 * From the launch to the end of the last process: one poll loop over the control pair, the init's
 * pidfd, both output streams, the caller's cancel descriptor and the deadlines.
 */
#ifndef ISORUN_SANDBOX_WATCH_SUPERVISE_H
#define ISORUN_SANDBOX_WATCH_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/watch/drain.h"
#include "sandbox/launch/launch.h"
#include "sandbox/child/steps.h"

/* How a run ended, as observed; sandbox/watch/classify.c gives it a name. */
struct iso_ending {
	bool started;		   /* the payload's exec succeeded */
	struct iso_record failure; /* type ISO_RECORD_FAILED when a set-up step failed */
	bool exited;		   /* `wait_status` is the payload's */
	int wait_status;
	bool deadline_passed;	   /* the wall limit ended it */
	bool setup_timed_out;	   /* set-up hung */
	int cancel_signal;	   /* the caller ended it with this signal, or 0 */
	bool oom_seen;		   /* hybrid: the kernel announced out-of-memory */
	bool killed;		   /* everything was killed before the payload had ended */
	bool left_behind;	   /* members survived the kill (uninterruptible) */
	uint64_t survivors_killed; /* descendants that outlived the payload */
	int64_t ended_mono_ns;
};

struct iso_supervision {
	struct iso_process *process;	 /* borrowed */
	int control_fd;			 /* borrowed */
	const struct iso_cgroup *cgroup; /* borrowed; NULL: none */
	struct iso_stream *streams[2];	 /* borrowed; stdout, stderr */
	int cancel_fd;			 /* borrowed; see struct iso_request */
	int input_fd;			 /* borrowed; where a terminal's input comes from, or -1 */
	void (*on_progress)(void *data, const struct iso_progress *progress); /* or NULL */
	void *progress_data;
	enum iso_detached detached;
	int64_t started_mono_ns;
	uint64_t wall_limit_ms, grace_ms;
};

/* Supervise to the end; cannot fail, only observe. SIGPIPE is blocked meanwhile. */
void iso_supervise(const struct iso_supervision *supervision, struct iso_ending *ret_ending);

#endif
