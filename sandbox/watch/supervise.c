/*
 * Phases: SETUP until the payload's exec, RUNNING, TERMINATING between TERM and KILL, KILLED while
 * waiting for the end, ENDED while a slow reader still takes output. Every phase has a deadline, or
 * runs as long as the payload or the reader likes because nobody set a limit.
 */
#include "sandbox/watch/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/file/fd.h"
#include "sandbox/watch/terminal.h"

#define SETUP_LIMIT_MS 30000
#define KILL_LIMIT_MS  5000 /* how long a killed process may take to vanish */
#define LAST_FLUSH_MS  500  /* for a slow reader after a deadline or a cancel */
#define PROGRESS_MS    1000
#define CANCEL_AT_ONCE 2 /* a second cancel skips the grace */

enum phase {
	PHASE_SETUP,
	PHASE_RUNNING,
	PHASE_TERMINATING,
	PHASE_KILLED,
	PHASE_ENDED,
};

enum {
	SLOT_CONTROL,
	SLOT_INIT,
	SLOT_CANCEL,
	SLOT_OOM,
	SLOT_INPUT,
	SLOT_STREAMS, /* two */
	SLOT_COUNT = SLOT_STREAMS + 2,
};

struct loop {
	const struct iso_supervision *what;
	struct iso_ending *ending;
	enum phase phase;
	int64_t wall_deadline_ns, phase_deadline_ns, progress_due_ns;
	int cancel_count;
	bool control_open, cancel_open;
	struct iso_terminal terminal;
};

/* Descendants that are still there although the payload has ended, without the init. */
static uint64_t count_survivors(const struct loop *loop)
{
	if (loop->what->cgroup == NULL)
		return 1; /* at least: there is no list to count */
	uint64_t members = iso_cgroup_count(loop->what->cgroup);
	return members > 0 ? members - 1 : 0;
}

static void kill_all(struct loop *loop)
{
	if (loop->ending->exited)
		loop->ending->survivors_killed = count_survivors(loop);
	if (loop->what->cgroup == NULL || iso_cgroup_kill(loop->what->cgroup) < 0)
		/* Without its init the kernel kills the whole PID namespace. */
		iso_process_signal(loop->what->process, SIGKILL);
	loop->phase = PHASE_KILLED;
	loop->phase_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), KILL_LIMIT_MS);
}

static void kill_early(struct loop *loop)
{
	loop->ending->killed = !loop->ending->exited;
	kill_all(loop);
}

/*
 * Ask with `signal_number`, and kill when the grace is over. An init that is asked before it has
 * started the payload ends; that it has started it, it may not have reported yet.
 */
static void terminate(struct loop *loop, int signal_number)
{
	if (loop->what->grace_ms == 0) {
		kill_early(loop);
		return;
	}
	iso_process_signal(loop->what->process, signal_number);
	loop->phase = PHASE_TERMINATING;
	loop->phase_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), loop->what->grace_ms);
}

/* The payload has ended. What still runs is killed now, or waited for. */
static void on_payload_exit(struct loop *loop, const struct iso_record *record)
{
	struct iso_ending *ending = loop->ending;
	ending->exited = true;
	ending->wait_status = record->value;
	bool descendants_left = record->index != 0;
	if (!descendants_left)
		return; /* the init is about to end by itself */
	if (loop->what->detached == ISO_DETACHED_WAIT && loop->phase == PHASE_RUNNING)
		return;
	if (loop->phase < PHASE_KILLED)
		kill_all(loop);
}

/* One record, and the descriptor that came with it (or -1). The size as recvmsg(2) gives it. */
static ssize_t receive(int control_fd, struct iso_record *ret_record, int *ret_fd)
{
	struct iovec data = {ret_record, sizeof(*ret_record)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr envelope = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size;
	/* A child that ended before it had read what we sent resets the pair, which the kernel says
	 * once, and before it hands out what the child sent. */
	do {
		size = recvmsg(control_fd, &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	*ret_fd = -1;
	if (size > 0 && envelope.msg_controllen >= sizeof(control.header) &&
	    control.header.cmsg_type == SCM_RIGHTS &&
	    control.header.cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return size;
}

/* The payload's terminal: what it says is the output, what the caller types is its input. */
static void on_terminal(struct loop *loop, int master_fd)
{
	ISO_AUTO_CLOSE int writer_fd = iso_fd_above_stdio(master_fd);
	int reader_fd = writer_fd < 0 ? -1 : fcntl(writer_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (reader_fd < 0) { /* then there is no output to be had */
		loop->ending->failure = (struct iso_record){
			.type = ISO_RECORD_FAILED,
			.step = ISO_STEP_TERMINAL,
			.value = errno,
		};
		kill_early(loop);
		return;
	}
	iso_terminal_start(&loop->terminal, ISO_TAKE_FD(writer_fd), loop->what->input_fd);
	iso_stream_take_terminal(loop->what->streams[0], reader_fd);
}

static void on_record(struct loop *loop, const struct iso_record *record, int fd)
{
	switch (record->type) {
	case ISO_RECORD_FAILED:
		loop->ending->failure = *record;
		break;
	case ISO_RECORD_TERMINAL:
		if (fd >= 0)
			on_terminal(loop, ISO_TAKE_FD(fd));
		break;
	case ISO_RECORD_STARTED:
		loop->ending->started = true;
		if (loop->phase == PHASE_SETUP)
			loop->phase = PHASE_RUNNING;
		break;
	case ISO_RECORD_EXITED:
		on_payload_exit(loop, record);
		break;
	default:
		break;
	}
	iso_fd_close(fd);
}

static void on_control(struct loop *loop)
{
	struct iso_record record = {0};
	int fd;
	for (;;) {
		ssize_t size = receive(loop->what->control_fd, &record, &fd);
		if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (size != sizeof(record)) { /* closed */
			loop->control_open = false;
			return;
		}
		on_record(loop, &record, fd);
	}
}

static void on_init_end(struct loop *loop)
{
	loop->ending->ended_mono_ns = iso_clock_mono_ns();
	if (loop->what->cgroup != NULL)
		(void)iso_cgroup_kill(loop->what->cgroup); /* it is waited for below */
	loop->phase = PHASE_ENDED;
	bool hurried = loop->ending->deadline_passed || loop->cancel_count > 0;
	loop->phase_deadline_ns =
		hurried ? iso_deadline_after(loop->ending->ended_mono_ns, LAST_FLUSH_MS)
			: loop->wall_deadline_ns;
}

static void abandon_outlets(struct loop *loop)
{
	for (int i = 0; i < 2; i++) {
		if (!iso_stream_ended(loop->what->streams[i]))
			iso_stream_abandon_outlet(loop->what->streams[i], ETIMEDOUT);
	}
}

static void on_cancel(struct loop *loop)
{
	struct signalfd_siginfo info = {0}; /* a pipe's uint32_t lands in its first member */
	ssize_t size = read(loop->what->cancel_fd, &info, sizeof(info));
	if (size < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (size <= 0) { /* its writer is gone: nobody will cancel any more */
		loop->cancel_open = false;
		return;
	}
	int signal_number = size < (ssize_t)sizeof(info.ssi_signo) ? SIGTERM : (int)info.ssi_signo;
	if (signal_number == SIGWINCH) {
		iso_terminal_resize(&loop->terminal);
		return;
	}
	loop->cancel_count++;
	if (loop->phase == PHASE_ENDED) {
		abandon_outlets(loop);
		return;
	}
	if (loop->ending->cancel_signal == 0)
		loop->ending->cancel_signal = signal_number;
	if (loop->phase < PHASE_TERMINATING)
		terminate(loop, signal_number);
	else if (loop->cancel_count >= CANCEL_AT_ONCE && loop->phase == PHASE_TERMINATING)
		kill_early(loop);
}

static void on_deadline(struct loop *loop)
{
	switch (loop->phase) {
	case PHASE_SETUP: /* the wall limit covers set-up, too */
		loop->ending->deadline_passed = loop->wall_deadline_ns <= loop->phase_deadline_ns;
		loop->ending->setup_timed_out = !loop->ending->deadline_passed;
		kill_early(loop);
		break;
	case PHASE_RUNNING:
		loop->ending->deadline_passed = true;
		terminate(loop, SIGTERM);
		break;
	case PHASE_TERMINATING:
		kill_early(loop);
		break;
	case PHASE_KILLED:
		loop->ending->left_behind = true;
		on_init_end(loop);
		loop->phase_deadline_ns = iso_clock_mono_ns();
		break;
	case PHASE_ENDED:
		abandon_outlets(loop);
		loop->phase_deadline_ns = ISO_NEVER; /* the pipes' rest comes without waiting */
		break;
	}
}

static int64_t next_deadline(const struct loop *loop)
{
	switch (loop->phase) {
	case PHASE_SETUP:
		return iso_deadline_min(loop->phase_deadline_ns, loop->wall_deadline_ns);
	case PHASE_RUNNING:
		return loop->wall_deadline_ns;
	default:
		return loop->phase_deadline_ns;
	}
}

static bool streams_ended(const struct loop *loop)
{
	return iso_stream_ended(loop->what->streams[0]) && iso_stream_ended(loop->what->streams[1]);
}

/* Finished when the init is gone and both streams are drained. Survivors of a kill may hold the
 * pipes open for ever, so with those left behind the pipes are not waited for. */
static bool is_finished(const struct loop *loop)
{
	return loop->phase == PHASE_ENDED && (streams_ended(loop) || loop->ending->left_behind);
}

static void fill_slots(const struct loop *loop, struct pollfd slots[SLOT_COUNT])
{
	const struct iso_supervision *what = loop->what;
	bool init_lives = loop->phase != PHASE_ENDED;
	slots[SLOT_CONTROL] =
		(struct pollfd){loop->control_open ? what->control_fd : -1, POLLIN, 0};
	slots[SLOT_INIT] = (struct pollfd){init_lives ? what->process->pidfd : -1, POLLIN, 0};
	bool watch_oom = what->cgroup != NULL && !loop->ending->oom_seen;
	slots[SLOT_CANCEL] = (struct pollfd){loop->cancel_open ? what->cancel_fd : -1, POLLIN, 0};
	slots[SLOT_OOM] = (struct pollfd){watch_oom ? what->cgroup->oom_fd : -1, POLLIN, 0};
	slots[SLOT_INPUT] = (struct pollfd){-1, 0, 0};
	if (init_lives && iso_terminal_wants_write(&loop->terminal))
		slots[SLOT_INPUT] = (struct pollfd){loop->terminal.master_fd, POLLOUT, 0};
	else if (init_lives && iso_terminal_wants_input(&loop->terminal))
		slots[SLOT_INPUT] = (struct pollfd){loop->terminal.input_fd, POLLIN, 0};
	for (int i = 0; i < 2; i++) {
		const struct iso_stream *stream = what->streams[i];
		struct pollfd *slot = &slots[SLOT_STREAMS + i];
		*slot = (struct pollfd){-1, 0, 0};
		if (iso_stream_wants_write(stream))
			*slot = (struct pollfd){stream->outlet.fd, POLLOUT, 0};
		else if (iso_stream_wants_read(stream))
			*slot = (struct pollfd){stream->read_fd, POLLIN, 0};
	}
}

/* Whoever shows progress has to take it away before output comes. */
static void announce_output(const struct loop *loop)
{
	if (loop->what->on_progress != NULL)
		loop->what->on_progress(loop->what->progress_data, NULL);
}

static void show_progress(struct loop *loop, int64_t now)
{
	const struct iso_supervision *what = loop->what;
	struct iso_progress progress = {
		.elapsed_ms = (uint64_t)(now - what->started_mono_ns) / 1000000,
		.memory_bytes = ISO_UNKNOWN,
		.process_count = ISO_UNKNOWN,
	};
	loop->progress_due_ns = iso_deadline_after(now, PROGRESS_MS);
	if (what->cgroup != NULL) {
		uint64_t members = iso_cgroup_count(what->cgroup);
		progress.memory_bytes = iso_cgroup_memory(what->cgroup);
		progress.process_count = members > 0 ? members - 1 : 0; /* without the init */
	}
	for (int i = 0; i < 2; i++)
		progress.midline[i] = what->streams[i]->outlet_midline ||
				      iso_stream_wants_write(what->streams[i]);
	what->on_progress(what->progress_data, &progress);
}

static void dispatch(struct loop *loop, const struct pollfd slots[SLOT_COUNT])
{
	for (int i = 0; i < 2; i++) {
		if (slots[SLOT_STREAMS + i].revents == 0)
			continue;
		announce_output(loop);
		iso_stream_pump(loop->what->streams[i]);
	}
	if (slots[SLOT_INPUT].revents != 0)
		iso_terminal_pump(&loop->terminal);
	if (slots[SLOT_CANCEL].revents != 0)
		on_cancel(loop);
	if (slots[SLOT_OOM].revents != 0) {
		loop->ending->oom_seen = true;
		if (loop->phase < PHASE_KILLED)
			kill_early(loop);
	}
	/* Records first: the init sends them before it ends. */
	if (slots[SLOT_CONTROL].revents != 0 || slots[SLOT_INIT].revents != 0)
		on_control(loop);
	if (slots[SLOT_INIT].revents != 0 && loop->phase != PHASE_ENDED)
		on_init_end(loop);
}

static void run(struct loop *loop)
{
	while (!is_finished(loop)) {
		struct pollfd slots[SLOT_COUNT];
		fill_slots(loop, slots);
		int64_t now = iso_clock_mono_ns();
		int64_t deadline = next_deadline(loop);
		if (now >= deadline) {
			on_deadline(loop);
			continue;
		}
		if (now >= loop->progress_due_ns)
			show_progress(loop, now);
		deadline = iso_deadline_min(deadline, loop->progress_due_ns);
		if (poll(slots, SLOT_COUNT, iso_deadline_poll_ms(deadline, now)) > 0)
			dispatch(loop, slots);
	}
	announce_output(loop); /* the messages about the end */
}

/* Block SIGPIPE in this thread; afterwards take back one that we caused. */
static void block_sigpipe(sigset_t *ret_saved, bool *ret_was_pending)
{
	sigset_t pipe_only, pending;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	*ret_was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe_only, ret_saved);
}

static void restore_sigpipe(const sigset_t *saved, bool was_pending)
{
	sigset_t pipe_only;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	if (!was_pending)
		(void)sigtimedwait(&pipe_only, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

void iso_supervise(const struct iso_supervision *supervision, struct iso_ending *ret_ending)
{
	*ret_ending = (struct iso_ending){0};
	struct loop loop = {
		.what = supervision,
		.ending = ret_ending,
		.phase = PHASE_SETUP,
		.control_open = true,
		.cancel_open = true,
		.terminal = {.master_fd = -1, .input_fd = -1},
		.wall_deadline_ns = supervision->wall_limit_ms == ISO_UNLIMITED
					    ? ISO_NEVER
					    : iso_deadline_after(supervision->started_mono_ns,
								 supervision->wall_limit_ms),
		.phase_deadline_ns =
			iso_deadline_after(supervision->started_mono_ns, SETUP_LIMIT_MS),
		.progress_due_ns =
			supervision->on_progress == NULL
				? ISO_NEVER
				: iso_deadline_after(supervision->started_mono_ns, PROGRESS_MS),
	};
	sigset_t saved;
	bool was_pending;
	block_sigpipe(&saved, &was_pending);
	run(&loop);
	restore_sigpipe(&saved, was_pending);
	iso_terminal_done(&loop.terminal);
	iso_process_reap(supervision->process);
	if (supervision->cgroup != NULL &&
	    iso_cgroup_wait_empty(supervision->cgroup,
				  iso_deadline_after(iso_clock_mono_ns(), KILL_LIMIT_MS)) < 0)
		ret_ending->left_behind = true;
}
