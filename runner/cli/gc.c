/* `isorun gc`: clean up after runs whose isorun was killed. */
#include <inttypes.h>
#include <stdio.h>

#include "runner/base/error.h"
#include "runner/cli/cli.h"

int cli_gc(char **argv)
{
	struct iso_error err = {0};
	uint64_t removed = 0;
	if (argv[0] != NULL) {
		iso_error_set(&err, ISO_ERR_INVALID, 0, "read \"%s\": gc takes no arguments",
			      argv[0]);
		cli_print_error(&err);
		return CLI_EXIT_FAILED;
	}
	int status = iso_gc(&removed, &err);
	if (removed > 0)
		fprintf(stderr, "isorun: removed what %" PRIu64 " killed runs had left\n", removed);
	if (status == 0)
		return 0;
	cli_print_error(&err);
	return CLI_EXIT_FAILED;
}
