/* Ignored signals stay ignored: nohup and the shell's background jobs mean it. */
#include "runner/cli/terminal/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "runner/base/array.h"
#include "runner/base/error.h"

int cli_open_cancel_signals(bool tty, struct iso_error *err)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	sigset_t signals;
	sigemptyset(&signals);
	for (size_t i = 0; i < ISO_COUNT(numbers); i++) {
		struct sigaction action;
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&signals, numbers[i]);
	}
	if (tty)
		sigaddset(&signals, SIGWINCH);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	int fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (fd < 0)
		iso_error_set(err, ISO_ERR_SYSTEM, errno, "open a signalfd");
	return fd;
}
