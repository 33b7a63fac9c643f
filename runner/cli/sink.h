/* Where a command's receipt goes: a file, a descriptor, standard output; opened before anything
 * runs. */
#ifndef ISORUN_CLI_SINK_H
#define ISORUN_CLI_SINK_H

#include "runner/workspace/writable.h"

struct cli_sink {
	int dir_fd; /* owned; directory of the file, or -1 */
	char *name; /* owned; in that directory */
	int fd;	    /* what is written into: the caller's, or ours; or -1 */
	bool owns_fd;
	bool to_stdout;
};

/* Find the descriptor that `receipt` names, if it is "fd:N", before any of our own is open. Errors:
 * ISO_ERR_INVALID. */
int cli_sink_find_fd(const char *receipt, int *ret_fd, struct iso_error *err);

/*
 * Open what `receipt` names (NULL: nowhere); `fd` is what cli_sink_find_fd has found, or -1.
 *
 * Nothing and a regular file are replaced, whole and at once, where a link leads to; a device, a
 * terminal, a pipe and a FIFO that somebody reads are written into. Where payloads can write, links
 * and all that is no regular file are no places for a receipt.
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_DENIED, ISO_ERR_NOMEM.
 */
int cli_sink_open(const char *receipt, int fd, const struct iso_writable *writable,
		  struct cli_sink *ret_sink, struct iso_error *err);

/* Write the receipt to all of it. Errors: ISO_ERR_SYSTEM, the last one. */
int cli_sink_write(const struct cli_sink *sink, const char *json, struct iso_error *err);

void cli_sink_close(struct cli_sink *sink);

#endif
