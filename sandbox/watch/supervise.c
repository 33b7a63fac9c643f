/*
 * A state machine: what was ready is dealt with, then the deadlines that have passed, then what can
 * go on by itself; last the watch is told what is wanted next. Every phase has a deadline, or lasts
 * as long as the payload or the reader likes because nobody set a limit.
 */
#include "sandbox/watch/supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "runner/base/clock.h"
#include "sandbox/watch/internal.h"

#define SETUP_STALL_MS	 30000 /* without a step forward */
#define KILL_LOOK_MS	 100   /* before that nobody even looks how many there are */
#define KILL_STALL_MS	 2000  /* what was killed: until something of it is gone */
#define KILL_LIMIT_MS	 30000 /* and until all is */
#define LAST_FLUSH_MS	 500   /* for a slow reader after a deadline or a cancel */
#define PROGRESS_MS	 1000
#define CANCEL_AT_ONCE	 2 /* a second cancel skips the grace */
#define CANCELS_PER_STEP 64
#define OOM_LIMIT_MS	 100 /* from a want of memory to the kill for it; 7 were measured */
#define OOM_LOOK_MS	 1

/* Descendants that are still there although the payload has ended, without the init. */
static uint64_t count_survivors(const struct iso_supervision *run)
{
	if (run->cgroup == NULL)
		return 1; /* at least: there is no list to count */
	uint64_t members = iso_cgroup_count(run->cgroup);
	return members > 0 ? members - 1 : 0;
}

/* Wait for the end of what was killed, which takes as long as it takes, but not without a sign of
 * progress: what is stuck in the kernel stays there for ever. */
static void wait_for_killed(struct iso_supervision *run)
{
	int64_t now = iso_clock_mono_ns();
	run->killed_deadline_ns = iso_deadline_after(now, KILL_LIMIT_MS);
	run->phase_deadline_ns =
		iso_deadline_after(now, run->cgroup != NULL ? KILL_LOOK_MS : KILL_STALL_MS);
	run->killed_left = UINT64_MAX;
	run->killed_memory = UINT64_MAX;
}

/* Whether there is less of what was killed than before; then the wait goes on. */
static bool killed_are_going(struct iso_supervision *run)
{
	int64_t now = iso_clock_mono_ns();
	if (run->cgroup == NULL || now >= run->killed_deadline_ns)
		return false;
	uint64_t left = iso_cgroup_count(run->cgroup), memory = iso_cgroup_memory(run->cgroup);
	bool fewer = left < run->killed_left || memory < run->killed_memory;
	run->killed_left = left;
	run->killed_memory = memory;
	run->phase_deadline_ns = iso_deadline_after(now, KILL_STALL_MS);
	return fewer;
}

void iso_kill_all(struct iso_supervision *run)
{
	if (run->ending.exited)
		run->ending.survivors_killed = count_survivors(run);
	if (run->cgroup == NULL || iso_cgroup_kill(run->cgroup) < 0)
		/* Without its init the kernel kills the whole PID namespace. */
		iso_process_signal(run->process, SIGKILL);
	run->phase = ISO_PHASE_KILLED;
	wait_for_killed(run);
}

void iso_kill_early(struct iso_supervision *run)
{
	run->ending.killed = !run->ending.exited;
	iso_kill_all(run);
}

/* What the init passes on to the payload; what is no end in anybody's words becomes SIGTERM. */
static bool is_passed_on(int signal_number)
{
	return signal_number == SIGHUP || signal_number == SIGINT || signal_number == SIGQUIT ||
	       signal_number == SIGTERM;
}

/*
 * Ask with `signal_number`, and kill when the grace is over. An init that is asked before it has
 * started the payload ends; that it has started it, it may not have reported yet.
 */
static void terminate(struct iso_supervision *run, int signal_number)
{
	if (run->grace_ms == 0) {
		iso_kill_early(run);
		return;
	}
	iso_process_signal(run->process, is_passed_on(signal_number) ? signal_number : SIGTERM);
	run->phase = ISO_PHASE_TERMINATING;
	run->phase_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), run->grace_ms);
}

static void on_init_end(struct iso_supervision *run)
{
	run->ending.ended_mono_ns = iso_clock_mono_ns();
	if (run->cgroup != NULL)
		(void)iso_cgroup_kill(run->cgroup); /* it is waited for below */
	run->phase = ISO_PHASE_ENDED;
	for (int i = 0; i < 2; i++)
		iso_stream_last_call(run->streams[i]);
	bool hurried = run->ending.deadline_passed || run->cancel_count > 0;
	run->phase_deadline_ns =
		hurried ? iso_deadline_after(run->ending.ended_mono_ns, LAST_FLUSH_MS)
			: run->wall_deadline_ns;
}

static void abandon_outlets(struct iso_supervision *run)
{
	for (int i = 0; i < 2; i++) {
		if (iso_stream_ended(run->streams[i]))
			continue;
		iso_watch_forget(run->watch, ISO_SLOT_WRITE + i);
		iso_stream_abandon_outlet(run->streams[i], ETIMEDOUT);
	}
}

static void cancel(struct iso_supervision *run, int wanted)
{
	/* What is no signal is a wish all the same. */
	int signal_number = wanted >= 1 && wanted <= SIGRTMAX ? wanted : SIGTERM;
	if (signal_number == SIGWINCH) {
		iso_terminal_resize(&run->terminal);
		return;
	}
	if (signal_number == SIGUSR1 || signal_number == SIGUSR2) { /* a word to the payload */
		if (run->phase == ISO_PHASE_RUNNING)
			iso_process_signal(run->process, signal_number);
		return;
	}
	if (run->phase >= ISO_PHASE_EMPTYING)
		return;
	run->cancel_count++;
	if (run->phase == ISO_PHASE_ENDED) {
		abandon_outlets(run);
		return;
	}
	if (run->ending.cancel_signal == 0)
		run->ending.cancel_signal = signal_number;
	if (run->phase < ISO_PHASE_TERMINATING)
		terminate(run, signal_number);
	else if (run->cancel_count >= CANCEL_AT_ONCE && run->phase == ISO_PHASE_TERMINATING)
		iso_kill_early(run);
}

static void on_cancel(struct iso_supervision *run)
{
	int signal_number;
	for (int i = 0; i < CANCELS_PER_STEP; i++) {
		if (!iso_inbox_signal(&run->cancels, &signal_number))
			return;
		if (signal_number != 0 || i == 0) /* else the rest of a number that is wider */
			cancel(run, signal_number);
	}
}

/* A large world on a busy machine may take long; what does not get on hangs. */
static bool setup_goes_on(struct iso_supervision *run)
{
	uint64_t at = __atomic_load_n(run->setup_at, __ATOMIC_RELAXED);
	bool moved = at != run->ending.setup_at;
	run->ending.setup_at = at;
	run->phase_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), SETUP_STALL_MS);
	return moved;
}

static void on_deadline(struct iso_supervision *run)
{
	switch (run->phase) {
	case ISO_PHASE_SETUP: /* the wall limit covers set-up, too */
		run->ending.deadline_passed = run->wall_deadline_ns <= run->phase_deadline_ns;
		if (!run->ending.deadline_passed && setup_goes_on(run))
			break;
		run->ending.setup_timed_out = !run->ending.deadline_passed;
		iso_kill_early(run);
		break;
	case ISO_PHASE_RUNNING:
		run->ending.deadline_passed = true;
		terminate(run, SIGTERM);
		break;
	case ISO_PHASE_TERMINATING:
		iso_kill_early(run);
		break;
	case ISO_PHASE_KILLED:
		if (killed_are_going(run))
			break;
		run->ending.left_behind = true;
		on_init_end(run);
		run->phase_deadline_ns = iso_clock_mono_ns();
		break;
	case ISO_PHASE_ENDED:
		abandon_outlets(run);
		run->phase_deadline_ns = ISO_NEVER; /* what is in the pipes needs no waiting for */
		break;
	case ISO_PHASE_EMPTYING:
		if (killed_are_going(run))
			break;
		run->ending.left_behind = true;
		run->phase = ISO_PHASE_DONE;
		break;
	case ISO_PHASE_DONE:
		break;
	}
}

static bool streams_ended(const struct iso_supervision *run)
{
	return iso_stream_ended(run->streams[0]) && iso_stream_ended(run->streams[1]);
}

/* Whoever shows progress has to take it away before output comes, or a message about the end. */
static void announce_output(const struct iso_supervision *run)
{
	if (run->on_progress != NULL)
		run->on_progress(run->progress_data, NULL);
}

/* At the last call an empty pipe is an ended one, of which there is no event. */
static void finish_streams(const struct iso_supervision *run)
{
	for (int i = 0; i < 2; i++) {
		if (iso_stream_wants_read(run->streams[i]))
			announce_output(run);
		while (iso_stream_wants_read(run->streams[i]))
			iso_stream_pump(run->streams[i]);
	}
}

/* What needs no event. With survivors of a kill left behind neither a reader nor the cgroup is
 * waited for. */
static void advance(struct iso_supervision *run)
{
	if (run->phase == ISO_PHASE_ENDED)
		finish_streams(run);
	if (run->phase == ISO_PHASE_ENDED && (streams_ended(run) || run->ending.left_behind)) {
		announce_output(run);
		run->phase = ISO_PHASE_EMPTYING;
		wait_for_killed(run);
	}
	if (run->phase == ISO_PHASE_EMPTYING &&
	    (run->cgroup == NULL || run->ending.left_behind || iso_cgroup_is_empty(run->cgroup)))
		run->phase = ISO_PHASE_DONE;
}

static void want_streams(const struct iso_supervision *run)
{
	for (int i = 0; i < 2; i++) {
		const struct iso_stream *stream = run->streams[i];
		iso_watch_want(run->watch, ISO_SLOT_WRITE + i,
			       iso_stream_wants_write(stream) ? stream->outlet.fd : -1, EPOLLOUT);
		iso_watch_want(run->watch, ISO_SLOT_READ + i, stream->read_fd,
			       iso_stream_wants_read(stream) ? EPOLLIN : 0);
	}
}

static void want(const struct iso_supervision *run)
{
	const struct iso_cgroup *cgroup = run->cgroup;
	bool init_lives = run->phase < ISO_PHASE_ENDED;
	bool input = init_lives && iso_terminal_wants_input(&run->terminal);
	bool master = init_lives && iso_terminal_wants_write(&run->terminal);
	bool emptying = run->phase == ISO_PHASE_EMPTYING && cgroup != NULL;
	iso_watch_want(run->watch, ISO_SLOT_CONTROL, run->control_open ? run->control_fd : -1,
		       EPOLLIN);
	iso_watch_want(run->watch, ISO_SLOT_INIT, init_lives ? run->process->pidfd : -1, EPOLLIN);
	iso_watch_want(run->watch, ISO_SLOT_CANCEL, run->cancels.fd, EPOLLIN);
	iso_watch_want(run->watch, ISO_SLOT_OOM,
		       cgroup != NULL && !run->ending.oom_seen ? cgroup->oom_fd : -1, EPOLLIN);
	iso_watch_want(run->watch, ISO_SLOT_EMPTY, emptying ? cgroup->events_fd : -1, EPOLLPRI);
	iso_watch_want(run->watch, ISO_SLOT_INPUT, input ? run->terminal.input_fd : -1, EPOLLIN);
	iso_watch_want(run->watch, ISO_SLOT_MASTER, master ? run->terminal.master_fd : -1,
		       EPOLLOUT);
	want_streams(run);
}

static int64_t next_deadline(const struct iso_supervision *run)
{
	switch (run->phase) {
	case ISO_PHASE_SETUP:
		return iso_deadline_min(run->phase_deadline_ns, run->wall_deadline_ns);
	case ISO_PHASE_RUNNING:
		return run->wall_deadline_ns;
	default:
		return run->phase_deadline_ns;
	}
}

void iso_supervise_look(const struct iso_supervision *run, struct iso_progress *ret_progress)
{
	struct iso_progress progress = {
		.elapsed_ms = (uint64_t)(iso_clock_mono_ns() - run->started_mono_ns) / 1000000,
		.memory_bytes = ISO_UNKNOWN,
		.process_count = ISO_UNKNOWN,
	};
	if (run->cgroup != NULL) {
		uint64_t members = iso_cgroup_count(run->cgroup);
		progress.memory_bytes = iso_cgroup_memory(run->cgroup);
		progress.process_count = members > 0 ? members - 1 : 0; /* without the init */
	}
	for (int i = 0; i < 2; i++)
		progress.midline[i] =
			run->streams[i]->outlet_midline || iso_stream_wants_write(run->streams[i]);
	*ret_progress = progress;
}

static void show_progress(struct iso_supervision *run, int64_t now)
{
	struct iso_progress progress;
	iso_supervise_look(run, &progress);
	run->progress_due_ns = iso_deadline_after(now, PROGRESS_MS);
	run->on_progress(run->progress_data, &progress);
}

/* What is announced in v1 is a want of memory, here or above, before anybody is killed for it. Only
 * a kill in here is ours; then all the others go, as in v2. */
static void look_for_oom_kill(struct iso_supervision *run)
{
	uint64_t kills = iso_cgroup_oom_kills(run->cgroup);
	if (kills != ISO_UNKNOWN && kills > 0) {
		run->ending.oom_seen = true;
		run->oom_until_ns = ISO_NEVER;
		if (run->phase < ISO_PHASE_KILLED)
			iso_kill_early(run);
	} else if (iso_clock_mono_ns() >= run->oom_until_ns) {
		run->oom_until_ns = ISO_NEVER;
	}
}

static void dispatch(struct iso_supervision *run)
{
	const struct iso_watch *watch = run->watch;
	for (int i = 0; i < 2; i++) {
		if (!iso_watch_is_ready(watch, ISO_SLOT_READ + i) &&
		    !iso_watch_is_ready(watch, ISO_SLOT_WRITE + i))
			continue;
		announce_output(run);
		iso_stream_pump(run->streams[i]);
	}
	if (iso_watch_is_ready(watch, ISO_SLOT_INPUT) || iso_watch_is_ready(watch, ISO_SLOT_MASTER))
		iso_terminal_pump(&run->terminal);
	if (iso_watch_is_ready(watch, ISO_SLOT_CANCEL))
		on_cancel(run);
	if (iso_watch_is_ready(watch, ISO_SLOT_OOM)) {
		iso_cgroup_take_oom(run->cgroup);
		run->oom_until_ns = iso_deadline_after(iso_clock_mono_ns(), OOM_LIMIT_MS);
	}
	if (run->oom_until_ns != ISO_NEVER)
		look_for_oom_kill(run);
	/* Records first: the init sends them before it ends. */
	bool init_ended = iso_watch_is_ready(watch, ISO_SLOT_INIT) && run->phase < ISO_PHASE_ENDED;
	if (iso_watch_is_ready(watch, ISO_SLOT_CONTROL) || init_ended)
		iso_records_read(run);
	if (init_ended)
		on_init_end(run);
}

static void prepare_to_wait(struct iso_supervision *run)
{
	int64_t due = iso_deadline_min(next_deadline(run), run->progress_due_ns);
	if (run->oom_until_ns != ISO_NEVER)
		due = iso_deadline_min(due, iso_deadline_after(iso_clock_mono_ns(), OOM_LOOK_MS));
	want(run);
	iso_watch_arm(run->watch, due);
}

/* After what came from outside of a step: the next one is due when something can happen, at once
 * when it is the last. */
static void go_on(struct iso_supervision *run)
{
	advance(run);
	if (run->phase != ISO_PHASE_DONE)
		prepare_to_wait(run);
	else
		iso_watch_arm(run->watch, iso_clock_mono_ns());
}

bool iso_supervise_step(struct iso_supervision *run, bool wait)
{
	if (run->phase == ISO_PHASE_DONE)
		return false;
	iso_watch_collect(run->watch, wait);
	dispatch(run);
	int64_t now = iso_clock_mono_ns();
	while (run->phase != ISO_PHASE_DONE && now >= next_deadline(run)) {
		on_deadline(run);
		advance(run);
	}
	advance(run);
	if (run->phase == ISO_PHASE_DONE)
		return false;
	if (now >= run->progress_due_ns)
		show_progress(run, now);
	prepare_to_wait(run);
	return true;
}

void iso_supervise_begin(struct iso_supervision *run)
{
	run->ending = (struct iso_ending){0};
	run->phase = ISO_PHASE_SETUP;
	run->control_open = true;
	iso_inbox_open(&run->cancels, run->cancel_fd);
	run->oom_until_ns = ISO_NEVER;
	run->cancel_count = 0;
	run->terminal = (struct iso_terminal){.master_fd = -1, .input_fd = -1};
	run->phase_deadline_ns = iso_deadline_after(run->started_mono_ns, SETUP_STALL_MS);
	run->wall_deadline_ns =
		run->wall_limit_ms == ISO_UNLIMITED
			? ISO_NEVER
			: iso_deadline_after(run->started_mono_ns, run->wall_limit_ms);
	run->progress_due_ns = run->on_progress == NULL
				       ? ISO_NEVER
				       : iso_deadline_after(run->started_mono_ns, PROGRESS_MS);
	prepare_to_wait(run);
}

void iso_supervise_cancel(struct iso_supervision *run, int signal_number)
{
	cancel(run, signal_number);
	go_on(run);
}

void iso_supervise_kill(struct iso_supervision *run)
{
	if (run->phase < ISO_PHASE_KILLED)
		iso_kill_early(run);
	abandon_outlets(run);
	go_on(run);
}

void iso_supervise_done(struct iso_supervision *run)
{
	iso_terminal_done(&run->terminal);
}
