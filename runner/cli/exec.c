/*
 * `isorun exec`, `isorun bash` and `isorun explain`: one tool call under a policy. What is refused
 * before a session exists is an error of the command line; all else ends in a receipt.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json.h"
#include "runner/base/text/parse.h"
#include "runner/cli/cli.h"
#include "runner/cli/signals.h"
#include "runner/cli/words.h"
#include "runner/engine/receipt.h"

#define ARGUMENTS_MAX ((size_t)1 << 20)

/* A call as the command line gives it. */
struct tool_call {
	struct iso_session_options options;
	const char *tool, *arguments, *call_id;
	bool list;
};

static int fail(const struct iso_error *err)
{
	cli_print_error(err);
	return CLI_EXIT_FAILED;
}

/* Arguments may be long: "-" reads them from standard input, "@FILE" from a file. */
static int read_arguments(struct tool_call *call, char **ret_text, struct iso_error *err)
{
	size_t size;
	if (call->arguments == NULL ||
	    (strcmp(call->arguments, "-") != 0 && call->arguments[0] != '@'))
		return 0;
	ISO_AUTO_CLOSE int fd = call->arguments[0] == '@'
					? open(call->arguments + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY)
					: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0 || iso_fd_read_all(fd, ARGUMENTS_MAX, ret_text, &size) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "read the arguments from \"%s\"",
				     call->arguments);
	if (strlen(*ret_text) != size)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read the arguments from \"%s\": they hold a NUL",
				     call->arguments);
	call->arguments = *ret_text;
	return 0;
}

/* A call that no session could take has a receipt all the same (RCPT-1). */
static int refuse(const struct iso_error *reason)
{
	struct iso_error err = {0};
	iso_result *result = NULL;
	ISO_AUTO_FREE char *receipt = NULL;
	cli_print_error(reason);
	if (iso_result_new_refused(reason, &result, &err) == 0) {
		result->tool = "unknown";
		if (iso_result_receipt(result, &receipt, &err) == 0)
			(void)cli_print_line(receipt); /* it prints its own message */
	}
	iso_result_free(result);
	return CLI_EXIT_FAILED;
}

static int call_tool(struct tool_call *call)
{
	struct iso_error err = {0};
	iso_session *session = NULL;
	ISO_AUTO_FREE char *receipt = NULL;
	ISO_AUTO_FREE char *read = NULL;
	int exit_code = CLI_EXIT_FAILED;
	ISO_AUTO_CLOSE int cancel_fd = cli_open_cancel_signals(false, &err);
	call->options.cancel_fd = cancel_fd;
	if (cancel_fd < 0 || read_arguments(call, &read, &err) < 0 ||
	    iso_session_new(&call->options, &session, &err) < 0)
		return call->list ? fail(&err) : refuse(&err);
	int status = call->list ? iso_session_tools(session, &receipt, &err)
				: iso_session_call(session, call->tool, call->arguments,
						   call->call_id, &receipt, &exit_code, &err);
	iso_session_free(session);
	if (status < 0)
		return fail(&err);
	if (cli_print_line(receipt) != 0)
		return CLI_EXIT_FAILED;
	return call->list ? 0 : exit_code;
}

#define SESSION_WORDS(options)                                                                \
	{"policy", &(options).policy, NULL}, {"state", &(options).state_dir, NULL},           \
		{"authority", &(options).authority, NULL}, {"audit", &(options).audit, NULL}, \
		{"audit-key", &(options).audit_key, NULL},                                    \
		{"audit-no-sync", NULL, &(options).audit_no_sync},                            \
	{                                                                                     \
		"generation", &(options).generation, NULL                                     \
	}

static int read_words(const struct cli_word *words, char **argv, size_t operands, char ***ret_rest,
		      struct iso_error *err)
{
	if (cli_words_read(words, argv, ret_rest, err) < 0)
		return -1;
	size_t count = 0;
	while ((*ret_rest)[count] != NULL)
		count++;
	if (count == operands)
		return 0;
	return count > operands ? iso_error_set(err, ISO_ERR_INVALID, 0,
						"read \"%s\": nothing more is expected",
						(*ret_rest)[operands])
				: iso_error_set(err, ISO_ERR_INVALID, 0,
						"read the command line: a word is missing");
}

int cli_exec(char **argv)
{
	struct tool_call call = {0};
	struct iso_error err = {0};
	char **rest;
	iso_session_options_init(&call.options);
	const struct cli_word words[] = {
		SESSION_WORDS(call.options),	 {"tool", &call.tool, NULL},
		{"args", &call.arguments, NULL}, {"call-id", &call.call_id, NULL},
		{"list", NULL, &call.list},	 {0},
	};
	if (read_words(words, argv, 0, &rest, &err) < 0)
		return fail(&err);
	if (call.tool == NULL && !call.list) {
		iso_error_set(&err, ISO_ERR_INVALID, 0, "read the command line: --tool is missing");
		return fail(&err);
	}
	return call_tool(&call);
}

/* The arguments of host.bash from the command line's own options. */
static int print_bash_arguments(const char *command, const char *timeout, const char *workdir,
				char **ret_json, struct iso_error *err)
{
	struct iso_json json;
	uint64_t timeout_ms;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "command", command);
	if (workdir != NULL)
		iso_json_add_text(&json, root, "workdir", workdir);
	if (timeout != NULL) {
		/* What is no duration goes on as it is: its refusal has a receipt. */
		if (iso_parse_duration(timeout, &timeout_ms) < 0)
			iso_json_add_text(&json, root, "timeout", timeout);
		else
			iso_json_add_thousandths(&json, root, "timeout", (int64_t)timeout_ms);
	}
	return iso_json_end(&json, root, ret_json, err);
}

int cli_bash(char **argv)
{
	struct tool_call call = {.tool = "host.bash"};
	struct iso_error err = {0};
	const char *timeout = NULL, *workdir = NULL;
	ISO_AUTO_FREE char *arguments = NULL;
	char **rest;
	iso_session_options_init(&call.options);
	const struct cli_word words[] = {
		SESSION_WORDS(call.options),
		{"call-id", &call.call_id, NULL},
		{"timeout", &timeout, NULL},
		{"workdir", &workdir, NULL},
		{0},
	};
	if (read_words(words, argv, 1, &rest, &err) < 0 ||
	    print_bash_arguments(rest[0], timeout, workdir, &arguments, &err) < 0)
		return fail(&err);
	call.arguments = arguments;
	return call_tool(&call);
}

int cli_explain(char **argv)
{
	struct tool_call call = {0};
	struct iso_error err = {0};
	iso_session *session = NULL;
	ISO_AUTO_FREE char *text = NULL;
	ISO_AUTO_FREE char *read = NULL;
	bool allowed = false;
	char **rest;
	iso_session_options_init(&call.options);
	const struct cli_word words[] = {
		{"policy", &call.options.policy, NULL},
		{"tool", &call.tool, NULL},
		{"args", &call.arguments, NULL},
		{0},
	};
	if (read_words(words, argv, 0, &rest, &err) < 0 || read_arguments(&call, &read, &err) < 0)
		return fail(&err);
	if (call.tool == NULL) {
		iso_error_set(&err, ISO_ERR_INVALID, 0, "read the command line: --tool is missing");
		return fail(&err);
	}
	int status = iso_session_new(&call.options, &session, &err);
	if (status == 0)
		status = iso_session_explain(session, call.tool, call.arguments, &text, &allowed,
					     &err);
	iso_session_free(session);
	if (status < 0)
		return fail(&err);
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
		return CLI_EXIT_FAILED;
	return allowed ? 0 : CLI_EXIT_FAILED;
}
