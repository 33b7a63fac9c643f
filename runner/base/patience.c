/* Signals are looked for now and then: a blocked one wakes nobody. */
#include "runner/base/patience.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "runner/base/array.h"
#include "runner/base/clock.h"

#define LOOK_MS 50

static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
static const int words[] = {SIGUSR1, SIGUSR2, SIGWINCH}; /* to a run, and no end of it */

struct iso_patience iso_patience_for(uint64_t ms, int cancel_fd)
{
	return (struct iso_patience){iso_deadline_after(iso_clock_mono_ns(), ms), cancel_fd};
}

static bool has_any(const sigset_t *pending, const int *signals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sigismember(pending, signals[i]) == 1)
			return true;
	}
	return false;
}

/* The descriptor may be a signalfd, which is readable for a word, too. */
static bool is_cancelled(bool readable)
{
	sigset_t pending;
	if (sigpending(&pending) < 0)
		return readable;
	return has_any(&pending, ends, ISO_COUNT(ends)) ||
	       (readable && !has_any(&pending, words, ISO_COUNT(words)));
}

/* Wait for at most `wait_ms` for one of the two. */
static int look(const struct iso_patience *patience, int fd, int wait_ms, bool *ret_ready)
{
	struct pollfd polled[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = patience->cancel_fd, .events = POLLIN},
	};
	(void)poll(polled, ISO_COUNT(polled), wait_ms);
	*ret_ready = polled[0].revents != 0;
	if (is_cancelled((polled[1].revents & POLLIN) != 0))
		return ECANCELED;
	return iso_clock_mono_ns() >= patience->deadline_ns ? ETIMEDOUT : 0;
}

int iso_patience_end(const struct iso_patience *patience)
{
	bool ready;
	return look(patience, -1, 0, &ready);
}

int iso_patience_wait(const struct iso_patience *patience, int fd)
{
	for (;;) {
		int64_t now_ns = iso_clock_mono_ns();
		int64_t until_ns = iso_deadline_min(iso_deadline_after(now_ns, LOOK_MS),
						    patience->deadline_ns);
		bool ready;
		int end = look(patience, fd, iso_deadline_poll_ms(until_ns, now_ns), &ready);
		if (ready || end != 0)
			return ready ? 0 : end;
	}
}
