/* The signals that end a command cleanly, as a descriptor. */
#ifndef ISORUN_CLI_TERMINAL_SIGNALS_H
#define ISORUN_CLI_TERMINAL_SIGNALS_H

#include <stdbool.h>

#include "runner/isorun.h"

/* From here on HUP, INT, QUIT and TERM are read from the descriptor that is returned; ignored ones
 * (nohup, background jobs) stay so. With `tty` a window that changes its size is told the same way.
 * -1 with `err`. */
int cli_open_cancel_signals(bool tty, struct iso_error *err);

#endif
