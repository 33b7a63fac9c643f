/*
 * `isorun exec`, `isorun bash` and `isorun explain`: one tool call under a policy. What is refused
 * before a session exists is an error of the command line; all else ends in a receipt.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json.h"
#include "runner/base/text/parse.h"
#include "runner/cli/cli.h"
#include "runner/cli/terminal/signals.h"
#include "runner/ledger/ledger.h"

#define ARGUMENTS_MAX ((size_t)1 << 20)

/* A call as the command line gives it. */
struct tool_call {
	struct iso_session_options options;
	const char *tool, *arguments, *call_id;
	const char *timeout, *workdir; /* of bash */
	bool list;
};

#define CALL(member)	CLI_MEMBER(struct tool_call, member)
#define SESSION(member) CLI_MEMBER(struct tool_call, options.member)

#define SESSION_ROWS                                                                              \
	{"policy", CLI_TEXT, SESSION(policy), "FILE", "the policy"},                              \
		{"call-id", CLI_TEXT, CALL(call_id), "ID",                                        \
		 "the same id and call again: the first receipt, nothing runs"},                  \
		{"authority", CLI_TEXT, SESSION(authority), "ADDRESS",                            \
		 "an external authority for host.bash: unix:PATH"},                               \
		{"state", CLI_TEXT, SESSION(state_dir), "DIR",                                    \
		 "where call ids and tokens outlive this process"},                               \
		{"audit", CLI_TEXT, SESSION(audit), "FILE", "append the call to this audit log"}, \
		{"audit-key", CLI_TEXT, SESSION(audit_key), "FILE",                               \
		 "sign its line with this Ed25519 key"},                                          \
		{"audit-no-sync", CLI_FLAG, SESSION(audit_no_sync), NULL,                         \
		 "do not wait until the line is on disk"},                                        \
	{                                                                                         \
		"generation", CLI_TEXT, SESSION(generation), "NAME",                              \
			"which incarnation of the worker this is"                                 \
	}

const struct cli_option cli_exec_options[] = {
	SESSION_ROWS,
	{"tool", CLI_TEXT, CALL(tool), "NAME", "the tool to call"},
	{"args", CLI_TEXT, CALL(arguments), "JSON",
	 "its arguments; @FILE or - (standard input) reads them"},
	{"list", CLI_FLAG, CALL(list), NULL,
	 "print the tools that the policy permits, with their schemas"},
	{0},
};

const struct cli_option cli_bash_options[] = {
	SESSION_ROWS,
	{"timeout", CLI_TEXT, CALL(timeout), "DURATION",
	 "until it is killed (default: what the policy says)"},
	{"workdir", CLI_TEXT, CALL(workdir), "DIR", "where it starts (default: the workspace)"},
	{0},
};

const struct cli_option cli_explain_options[] = {
	{"policy", CLI_TEXT, SESSION(policy), "FILE", "the policy"},
	{"tool", CLI_TEXT, CALL(tool), "NAME", "the tool"},
	{"args", CLI_TEXT, CALL(arguments), "JSON",
	 "its arguments; @FILE or - (standard input) reads them"},
	{0},
};

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
	const struct iso_ledger_entry entry = {
		.tool = "unknown",
		.received_mono_ns = iso_clock_mono_ns(),
	};
	struct iso_ledger nowhere = {.has_log = false};
	struct iso_error err = {0};
	iso_result *result = NULL;
	ISO_AUTO_FREE char *receipt = NULL;
	cli_print_error(reason);
	if (iso_result_new_refused(reason, &result, &err) == 0 &&
	    iso_ledger_finish(&nowhere, &entry, result, &receipt, &err) == 0)
		(void)cli_print_line(receipt); /* it prints its own message */
	iso_result_free(result);
	return CLI_EXIT_FAILED;
}

/* What was not recorded makes the exit code of a call that may have gone well: say so. */
static void report_unrecorded(const char *receipt)
{
	cJSON *root = cJSON_Parse(receipt);
	const cJSON *audit = cJSON_GetObjectItemCaseSensitive(root, "audit");
	const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(audit, "error"));
	if (why != NULL)
		fprintf(stderr, "isorun: %s\n", why);
	cJSON_Delete(root);
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
		return call->list ? cli_fail(&err) : refuse(&err);
	struct iso_tool_call tool_call;
	iso_tool_call_init(&tool_call);
	tool_call.tool = call->tool;
	tool_call.arguments = call->arguments;
	tool_call.call_id = call->call_id;
	int status = call->list ? iso_session_tools(session, &receipt, &err)
				: iso_session_call(session, &tool_call, &receipt, &exit_code, &err);
	iso_session_free(session);
	if (status < 0)
		return cli_fail(&err);
	if (cli_print_line(receipt) != 0)
		return CLI_EXIT_FAILED;
	if (!call->list && exit_code == CLI_EXIT_FAILED)
		report_unrecorded(receipt);
	return call->list ? 0 : exit_code;
}

static int missing(const char *option)
{
	struct iso_error err = {0};
	iso_error_set(&err, ISO_ERR_INVALID, 0, "read the command line: --%s is missing", option);
	return cli_fail(&err);
}

int cli_exec(const struct cli_command *command, char **argv)
{
	struct tool_call call = {0};
	struct iso_error err = {0};
	char **rest;
	iso_session_options_init(&call.options);
	int status = cli_options_read(command, &call, argv, &rest, &err);
	if (status != 0)
		return status > 0 ? cli_explain_command(command) : cli_fail(&err);
	return call.tool == NULL && !call.list ? missing("tool") : call_tool(&call);
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

int cli_bash(const struct cli_command *command, char **argv)
{
	struct tool_call call = {.tool = "host.bash"};
	struct iso_error err = {0};
	ISO_AUTO_FREE char *arguments = NULL;
	char **rest;
	iso_session_options_init(&call.options);
	int status = cli_options_read(command, &call, argv, &rest, &err);
	if (status > 0)
		return cli_explain_command(command);
	if (status < 0 ||
	    print_bash_arguments(rest[0], call.timeout, call.workdir, &arguments, &err) < 0)
		return cli_fail(&err);
	call.arguments = arguments;
	return call_tool(&call);
}

int cli_explain(const struct cli_command *command, char **argv)
{
	struct tool_call call = {0};
	struct iso_error err = {0};
	iso_session *session = NULL;
	ISO_AUTO_FREE char *text = NULL;
	ISO_AUTO_FREE char *read = NULL;
	bool allowed = false;
	char **rest;
	iso_session_options_init(&call.options);
	int status = cli_options_read(command, &call, argv, &rest, &err);
	if (status > 0)
		return cli_explain_command(command);
	if (status < 0 || read_arguments(&call, &read, &err) < 0)
		return cli_fail(&err);
	if (call.tool == NULL)
		return missing("tool");
	status = iso_session_new(&call.options, &session, &err);
	if (status == 0)
		status = iso_session_explain(session, call.tool, call.arguments, &text, &allowed,
					     &err);
	iso_session_free(session);
	if (status < 0)
		return cli_fail(&err);
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
		return CLI_EXIT_FAILED;
	return allowed ? 0 : CLI_EXIT_FAILED;
}
