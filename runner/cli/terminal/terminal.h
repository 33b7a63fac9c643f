/* The caller's terminal while a payload has one of its own: raw, and restored in any case. */
#ifndef ISORUN_CLI_TERMINAL_TERMINAL_H
#define ISORUN_CLI_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "runner/isorun.h"

struct cli_terminal {
	bool raw;
	struct termios saved;
};

/* Prepare `request` for --tty: input, size, TERM; and make the terminal at standard input raw. */
int cli_terminal_enter(struct cli_terminal *ret_terminal, struct iso_request *request,
		       struct iso_error *err);

/* Restore it. */
void cli_terminal_leave(struct cli_terminal *terminal);

#endif
