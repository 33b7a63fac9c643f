/* Where a command's receipt goes: a file, a descriptor, standard output; opened before anything
 * runs. */
#ifndef ISORUN_CLI_SINK_H
#define ISORUN_CLI_SINK_H

#include "runner/workspace/named_path.h"

struct cli_sink {
	int dir_fd;	  /* owned; directory of the file, or -1 */
	const char *name; /* borrowed; in that directory */
	int fd;		  /* borrowed; for fd:N, else -1 */
	bool to_stdout;
};

/*
 * Open what `receipt` ("FILE" or "fd:N"; borrowed; NULL: nowhere) names.
 *
 * workspace  links that a payload may have left in there are not followed out of it
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_DENIED, ISO_ERR_NOMEM.
 */
int cli_sink_open(const char *receipt, const struct iso_named_path *workspace,
		  struct cli_sink *ret_sink, struct iso_error *err);

/* Write the receipt to all of it. Errors: ISO_ERR_SYSTEM, the last one. */
int cli_sink_write(const struct cli_sink *sink, const char *json, struct iso_error *err);

void cli_sink_close(struct cli_sink *sink);

#endif
