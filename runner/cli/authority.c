/* `isorun authority`: the built-in authority as a process of its own. */
#include <string.h>

#include "runner/authority/authority.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/cli/cli.h"
#include "runner/cli/signals.h"
#include "runner/cli/words.h"

static int serve(const char *policy, const char *socket, const char *state, struct iso_error *err)
{
	struct iso_loaded_policy loaded;
	struct iso_builtin_authority authority;
	ISO_AUTO_CLOSE int stop_fd = cli_open_cancel_signals(false, err);
	if (stop_fd < 0 || iso_policy_load(policy, &loaded, err) < 0)
		return -1;
	int status = iso_builtin_authority_open(&loaded, state, &authority, err);
	if (status == 0) {
		status = iso_authority_serve(&authority, socket, stop_fd, err);
		iso_builtin_authority_close(&authority);
	}
	iso_policy_unload(&loaded);
	return status;
}

int cli_authority(char **argv)
{
	struct iso_error err = {0};
	const char *policy = NULL, *socket = NULL, *state = NULL;
	char **rest;
	const struct cli_word words[] = {
		{"policy", &policy, NULL},
		{"socket", &socket, NULL},
		{"state", &state, NULL},
		{0},
	};
	if (cli_words_read(words, argv, &rest, &err) == 0) {
		if (*rest != NULL || policy == NULL || socket == NULL)
			iso_error_set(&err, ISO_ERR_INVALID, 0,
				      "read the command line: isorun authority --policy FILE "
				      "--socket PATH [--state DIR] is needed");
		else if (serve(policy, socket, state, &err) == 0)
			return 0;
	}
	cli_print_error(&err);
	return CLI_EXIT_FAILED;
}
