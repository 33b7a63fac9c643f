/*
 * In raw mode ^C, ^Z and the like are bytes that the payload's terminal turns into signals in
 * there. Every way out of the run goes through cli_terminal_leave; only SIGKILL does not.
 */
#include "runner/cli/terminal/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/base/error.h"

int cli_terminal_enter(struct cli_terminal *ret_terminal, struct iso_request *request,
		       struct iso_error *err)
{
	struct winsize size;
	*ret_terminal = (struct cli_terminal){.raw = false};
	request->tty = true;
	if (request->stdin_fd < 0)
		request->stdin_fd = STDIN_FILENO;
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
		request->tty_rows = size.ws_row;
		request->tty_columns = size.ws_col;
	}
	if (!isatty(STDIN_FILENO))
		return 0;
	struct termios raw;
	if (tcgetattr(STDIN_FILENO, &raw) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the terminal's settings");
	ret_terminal->saved = raw;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "make the terminal raw");
	ret_terminal->raw = true;
	return 0;
}

void cli_terminal_leave(struct cli_terminal *terminal)
{
	if (terminal->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->saved); /* nothing else helps */
	terminal->raw = false;
}
