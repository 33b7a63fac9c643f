/* The one line that shows on a terminal that a long run goes on, and vanishes at the end. */
#ifndef ISORUN_CLI_TERMINAL_STATUS_H
#define ISORUN_CLI_TERMINAL_STATUS_H

#include <stdbool.h>

#include "runner/isorun.h"

struct cli_status {
	int terminal_fd; /* owned; -1: nothing is shown */
	bool shown;
	bool output_is_terminal; /* standard output shares the screen */
};

/*
 * Have `request` show its progress on standard error. Does nothing where that is no terminal, or
 * where `unwanted` says so (the payload owns the terminal, or --quiet). `ret_status` must outlive
 * the run.
 */
void cli_status_enter(struct cli_status *ret_status, struct iso_request *request, bool unwanted);

/* Stop using the terminal. */
void cli_status_leave(struct cli_status *status);

#endif
