/*
 * Every signal that would end us without a receipt and that is no fault of our own. Ignored signals
 * stay ignored: nohup and the shell's background jobs mean it.
 */
#include "runner/cli/terminal/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/base/sigmask.h"

/* As the kernel counts them. The libc that isorun is linked with keeps 34 for itself, and its
 * functions leave that out; others call it SIGRTMIN. */
#define REAL_TIME_FIRST 34
#define REAL_TIME_LAST	64

static uint64_t bit_unless_ignored(int number)
{
	struct sigaction action;
	bool ignored = sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
	return ignored ? 0 : iso_sigmask_of(number);
}

int cli_open_cancel_signals(bool tty, struct iso_error *err)
{
	static const int numbers[] = {SIGHUP,  SIGINT,	SIGQUIT,   SIGTERM, SIGUSR1,
				      SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU,
				      SIGIO,   SIGPWR,	SIGSTKFLT};
	uint64_t signals = 0;
	for (size_t i = 0; i < ISO_COUNT(numbers); i++)
		signals |= bit_unless_ignored(numbers[i]);
	for (int number = REAL_TIME_FIRST; number <= REAL_TIME_LAST; number++)
		signals |= bit_unless_ignored(number);
	if (tty)
		signals |= iso_sigmask_of(SIGWINCH);
	(void)iso_sigmask_block(signals);
	int fd = (int)syscall(SYS_signalfd4, -1, &signals, sizeof(signals), SFD_CLOEXEC);
	if (fd < 0)
		iso_error_set(err, ISO_ERR_SYSTEM, errno, "open a signalfd");
	return fd;
}
