/* `isorun gc`: clean up after runs whose isorun was killed. */
#include <inttypes.h>
#include <stdio.h>

#include "runner/cli/cli.h"

int cli_gc(const struct cli_command *command, char **argv)
{
	struct iso_error err = {0};
	uint64_t removed = 0;
	char **rest;
	int status = cli_options_read(command, NULL, argv, &rest, &err);
	if (status > 0)
		return cli_explain_command(command);
	if (status == 0)
		status = iso_gc(&removed, &err);
	if (removed > 0)
		fprintf(stderr, "isorun: removed what %" PRIu64 " killed runs had left\n", removed);
	return status < 0 ? cli_fail(&err) : 0;
}
