/* What all commands say, and how. */
#include <errno.h>
#include <stdio.h>

#include "runner/base/error.h"
#include "runner/cli/cli.h"

void cli_print_error(const struct iso_error *err)
{
	if (err->os_errno == EMFILE)
		fprintf(stderr, "isorun: %s\n  raise the limit of open files: ulimit -n %d\n",
			err->message, CLI_ENOUGH_DESCRIPTORS);
	else if (err->hint[0] != '\0')
		fprintf(stderr, "isorun: %s\n  %s\n", err->message, err->hint);
	else
		fprintf(stderr, "isorun: %s\n", err->message);
}

int cli_print_line(const char *text)
{
	char reason[ISO_ERRNO_TEXT_SIZE];
	if (printf("%s\n", text) < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "isorun: write standard output: %s\n",
			iso_errno_text(errno, reason));
		return CLI_EXIT_FAILED;
	}
	return 0;
}

int cli_fail(const struct iso_error *err)
{
	cli_print_error(err);
	return CLI_EXIT_FAILED;
}
