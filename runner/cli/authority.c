/* `isorun authority`: the built-in authority as a process of its own. */
#include <string.h>

#include "runner/authority/authority.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/cli/cli.h"
#include "runner/cli/terminal/signals.h"

static int serve(const char *policy, const char *socket, const char *state, struct iso_error *err)
{
	struct iso_loaded_policy loaded;
	struct iso_builtin_authority authority;
	ISO_AUTO_CLOSE int stop_fd = cli_open_cancel_signals(false, err);
	if (stop_fd < 0 || iso_policy_load(policy, &loaded, err) < 0)
		return -1;
	int status = iso_policy_check_place(&loaded, socket, "the authority's socket", err);
	if (status == 0)
		status = iso_policy_check_place(&loaded, state, "the state directory", err);
	if (status == 0)
		status = iso_builtin_authority_open(&loaded, state, &authority, err);
	if (status == 0) {
		status = iso_authority_serve(&authority, socket, stop_fd, err);
		iso_builtin_authority_close(&authority);
	}
	iso_policy_unload(&loaded);
	return status;
}

struct authority_options {
	const char *policy, *socket, *state;
};

#define OPTION(member) CLI_MEMBER(struct authority_options, member)

const struct cli_option cli_authority_options[] = {
	{"policy", CLI_TEXT, OPTION(policy), "FILE", "the policy by which it decides"},
	{"socket", CLI_TEXT, OPTION(socket), "PATH", "the Unix socket to listen on"},
	{"state", CLI_TEXT, OPTION(state), "DIR", "where tokens outlive this process"},
	{0},
};

int cli_authority(const struct cli_command *command, char **argv)
{
	struct authority_options options = {NULL, NULL, NULL};
	struct iso_error err = {0};
	char **rest;
	int status = cli_options_read(command, &options, argv, &rest, &err);
	if (status > 0)
		return cli_explain_command(command);
	if (status == 0 && (options.policy == NULL || options.socket == NULL))
		status = iso_error_set(&err, ISO_ERR_INVALID, 0,
				       "read the command line: isorun authority --policy FILE "
				       "--socket PATH [--state DIR] is needed");
	if (status < 0 || serve(options.policy, options.socket, options.state, &err) < 0)
		return cli_fail(&err);
	return 0;
}
