/* What the child and the init say over the control pair, and what follows from it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/file/fd.h"
#include "sandbox/launch/userns.h"
#include "sandbox/watch/internal.h"

/* The payload has ended. What still runs is killed now, or waited for. */
static void on_payload_exit(struct iso_supervision *run, const struct iso_record *record)
{
	struct iso_ending *ending = &run->ending;
	ending->exited = true;
	ending->wait_status = record->value;
	bool descendants_left = record->index != 0;
	if (!descendants_left)
		return; /* the init is about to end by itself */
	if (run->detached == ISO_DETACHED_WAIT && run->phase == ISO_PHASE_RUNNING)
		return;
	if (run->phase < ISO_PHASE_KILLED)
		iso_kill_all(run);
}

/* Set-up went no further on our side. */
static void fail_setup(struct iso_supervision *run, enum iso_step step, int os_errno)
{
	run->ending.failure = (struct iso_record){
		.type = ISO_RECORD_FAILED,
		.step = step,
		.value = os_errno,
	};
	iso_kill_early(run);
}

/* The payload's terminal: what it says is the output, what the caller types is its input. */
static void on_terminal(struct iso_supervision *run, int master_fd)
{
	ISO_AUTO_CLOSE int writer_fd = iso_fd_above_stdio(master_fd);
	int reader_fd = writer_fd < 0 ? -1 : fcntl(writer_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (reader_fd < 0) { /* then there is no output to be had */
		fail_setup(run, ISO_STEP_TERMINAL, errno);
		return;
	}
	iso_terminal_start(&run->terminal, ISO_TAKE_FD(writer_fd), run->input_fd);
	iso_watch_forget(run->watch, ISO_SLOT_READ);
	iso_stream_take_terminal(run->streams[0], reader_fd);
}

/* The init has made its user namespace and waits for the map. */
static void on_namespace(struct iso_supervision *run)
{
	int failed = iso_userns_map(run->process->pid, run->uid_map, run->gid_map);
	if (failed == 0 && send(run->control_fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
	    errno != EPIPE && errno != ECONNRESET) /* an init that has ended has said why */
		failed = -errno;
	if (failed < 0 && run->phase == ISO_PHASE_SETUP)
		fail_setup(run, ISO_STEP_ID_MAP, -failed);
}

static void on_record(struct iso_supervision *run, const struct iso_record *record, int fd)
{
	switch (record->type) {
	case ISO_RECORD_FAILED:
		run->ending.failure = *record;
		break;
	case ISO_RECORD_NAMESPACE:
		on_namespace(run);
		break;
	case ISO_RECORD_TERMINAL:
		if (fd >= 0)
			on_terminal(run, ISO_TAKE_FD(fd));
		break;
	case ISO_RECORD_STARTED:
		run->ending.started = true;
		if (run->phase == ISO_PHASE_SETUP)
			run->phase = ISO_PHASE_RUNNING;
		break;
	case ISO_RECORD_EXITED:
		on_payload_exit(run, record);
		break;
	default:
		break;
	}
	iso_fd_close(fd);
}

void iso_records_read(struct iso_supervision *run)
{
	struct iso_record record = {0};
	int fd;
	for (;;) {
		ssize_t size = iso_inbox_record(run->control_fd, &record, &fd);
		if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (size != sizeof(record)) { /* closed */
			run->control_open = false;
			return;
		}
		on_record(run, &record, fd);
	}
}
