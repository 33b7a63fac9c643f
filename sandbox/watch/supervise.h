/*
 * From the launch to the end of the last process, step by step: the control pair, the init's pidfd,
 * both output streams, the caller's cancel descriptor, a terminal's input and the deadlines, all
 * behind one descriptor (sandbox/watch/watch.h).
 */
#ifndef ISORUN_SANDBOX_WATCH_SUPERVISE_H
#define ISORUN_SANDBOX_WATCH_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/child/steps.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/watch/drain.h"
#include "sandbox/watch/inbox.h"
#include "sandbox/watch/terminal.h"
#include "sandbox/watch/watch.h"

/* How a run ended, as observed; sandbox/watch/classify.c gives it a name. */
struct iso_ending {
	bool started;		   /* the payload's exec succeeded */
	struct iso_record failure; /* type ISO_RECORD_FAILED when a set-up step failed */
	bool exited;		   /* `wait_status` is the payload's */
	int wait_status;
	bool deadline_passed;	   /* the wall limit ended it */
	bool setup_timed_out;	   /* set-up hung */
	uint64_t setup_at;	   /* where (iso_step_pack) */
	int cancel_signal;	   /* the caller ended it with this signal, or 0 */
	bool oom_seen;		   /* hybrid: the kernel killed a member for want of memory */
	bool killed;		   /* everything was killed before the payload had ended */
	bool left_behind;	   /* members survived the kill (uninterruptible) */
	uint64_t survivors_killed; /* descendants that outlived the payload */
	int64_t ended_mono_ns;
};

enum iso_phase {
	ISO_PHASE_SETUP = 0,   /* until the payload's exec */
	ISO_PHASE_RUNNING,     /* as long as it likes, or its wall limit */
	ISO_PHASE_TERMINATING, /* between TERM and KILL */
	ISO_PHASE_KILLED,      /* until the init has ended */
	ISO_PHASE_ENDED,       /* a slow reader still takes output */
	ISO_PHASE_EMPTYING,    /* until the cgroup has no member */
	ISO_PHASE_DONE,
};

/* One run that is watched. The first part is the caller's to fill before iso_supervise_begin, and
 * outlives the value. */
struct iso_supervision {
	struct iso_watch *watch;	 /* borrowed; open */
	struct iso_process *process;	 /* borrowed */
	const uint64_t *setup_at;	 /* borrowed; where the child is, which writes it */
	int control_fd;			 /* borrowed */
	const char *uid_map, *gid_map;	 /* borrowed; of a user namespace that the init makes */
	const struct iso_cgroup *cgroup; /* borrowed; NULL: none */
	struct iso_stream *streams[2];	 /* borrowed; stdout, stderr */
	int cancel_fd;			 /* borrowed; see struct iso_request */
	int input_fd;			 /* borrowed; where a terminal's input comes from, or -1 */
	void (*on_progress)(void *data, const struct iso_progress *progress); /* or NULL */
	void *progress_data;
	enum iso_detached detached;
	int64_t started_mono_ns;
	uint64_t wall_limit_ms, grace_ms;

	/* From here on its own. */
	struct iso_ending ending; /* to be read once it is done */
	enum iso_phase phase;
	int64_t wall_deadline_ns, phase_deadline_ns, progress_due_ns;
	int64_t killed_deadline_ns;	     /* for what was killed */
	uint64_t killed_left, killed_memory; /* of it, when last looked at */
	int64_t oom_until_ns; /* until then an announced kill may come; else ISO_NEVER */
	int cancel_count;
	struct iso_inbox_signals cancels;
	bool control_open;
	struct iso_terminal terminal;
};

/* Begin with a child that was just launched; cannot fail, only observe. */
void iso_supervise_begin(struct iso_supervision *run);

/*
 * Do what there is to do. Never blocks, or, with `wait`, until there is something.
 *
 * Returns whether it goes on: then the watch's descriptor says when to call again.
 */
bool iso_supervise_step(struct iso_supervision *run, bool wait);

/* End the run as if `signal_number` had come by the cancel descriptor. */
void iso_supervise_cancel(struct iso_supervision *run, int signal_number);

/* Kill everything at once; what follows is the end as any other. */
void iso_supervise_kill(struct iso_supervision *run);

/* How it stands. */
void iso_supervise_look(const struct iso_supervision *run, struct iso_progress *ret_progress);

/* Release what it holds itself; the ending stays. */
void iso_supervise_done(struct iso_supervision *run);

#endif
