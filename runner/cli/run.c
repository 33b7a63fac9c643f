/*
 * `isorun run` and `isorun plan`.
 *
 * The receipt is written after everything has ended, to a fresh file that then takes the name: what
 * a payload may have planted there (a link, a FIFO) is replaced and never written through.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/file/fresh_file.h"
#include "runner/ledger/open.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/parse.h"
#include "runner/cli/cli.h"
#include "runner/cli/policy.h"
#include "runner/cli/signals.h"
#include "runner/cli/status.h"
#include "runner/cli/terminal.h"
#include "runner/workspace/named_path.h"
#include "runner/engine/receipt.h"

/* Where the receipt goes, opened before anything runs. */
struct receipt_sink {
	int dir_fd;	  /* owned; directory of the file, or -1 */
	const char *name; /* in that directory */
	int fd;		  /* borrowed; for fd:N, else -1 */
};

static int open_sink(const char *receipt, const struct iso_named_path *workspace,
		     struct receipt_sink *ret_sink, struct iso_error *err)
{
	*ret_sink = (struct receipt_sink){.dir_fd = -1, .fd = -1};
	if (receipt == NULL)
		return 0;
	if (strncmp(receipt, "fd:", 3) == 0) {
		uint64_t number;
		if (iso_parse_u64_range(receipt + 3, 0, INT32_MAX, &number) < 0 ||
		    fcntl((int)number, F_GETFD) < 0)
			return iso_error_set(
				err, ISO_ERR_INVALID, 0,
				"write the receipt to \"%s\": it is no open descriptor", receipt);
		ret_sink->fd = (int)number;
		return 0;
	}
	const char *slash = strrchr(receipt, '/');
	ISO_AUTO_FREE char *directory =
		slash == NULL ? strdup(".")
			      : strndup(receipt, slash == receipt ? 1 : (size_t)(slash - receipt));
	if (directory == NULL)
		return iso_error_nomem(err);
	ret_sink->name = slash == NULL ? receipt : slash + 1;
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (iso_named_path_open_beside(workspace, directory, "the receipt's directory", &named,
				       err) < 0)
		return -1;
	if (*ret_sink->name == '\0' || faccessat(named.fd, ".", W_OK, AT_EACCESS) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, *ret_sink->name == '\0' ? EISDIR : errno,
				     "write the receipt to \"%s\"", receipt);
	ret_sink->dir_fd = ISO_TAKE_FD(named.fd);
	return 0;
}

static int write_text(int fd, const char *text)
{
	return iso_fd_write_all(fd, text, strlen(text)) < 0 || iso_fd_write_all(fd, "\n", 1) < 0
		       ? -1
		       : 0;
}

/* Whole and at once, whatever happens to us meanwhile. */
static int write_fresh_file(const struct receipt_sink *sink, const char *json)
{
	ISO_CLEANUP(iso_fresh_file_done) struct iso_fresh_file file = {.fd = -1};
	return iso_fresh_file_open(sink->dir_fd, 0644, ".isorun-receipt-", &file) < 0 ||
			       write_text(file.fd, json) < 0 ||
			       iso_fresh_file_replace(&file, sink->name) < 0
		       ? -1
		       : 0;
}

/* The receipt to its sink and, with --json, to standard output. 0, or -1 after a message. */
static int deliver_receipt(const struct cli_run *run, const struct receipt_sink *sink,
			   const iso_result *result)
{
	if (!run->json && sink->fd < 0 && sink->dir_fd < 0)
		return 0;
	struct iso_error err = {0};
	ISO_AUTO_FREE char *json = NULL;
	int failed = 0;
	if (iso_result_receipt(result, &json, &err) < 0)
		failed = -1;
	if (json != NULL && run->json && write_text(STDOUT_FILENO, json) < 0)
		failed = iso_error_set(&err, ISO_ERR_SYSTEM, errno,
				       "write the receipt to standard output");
	if (json != NULL && sink->fd >= 0 && write_text(sink->fd, json) < 0)
		failed = iso_error_set(&err, ISO_ERR_SYSTEM, errno, "write the receipt to fd %d",
				       sink->fd);
	if (json != NULL && sink->dir_fd >= 0 && write_fresh_file(sink, json) < 0)
		failed = iso_error_set(&err, ISO_ERR_SYSTEM, errno, "write the receipt \"%s\"",
				       sink->name);
	if (failed < 0)
		cli_print_error(&err);
	return failed;
}

/* A plain exit code speaks for itself; every other end gets a message, without its class. */
static void report_end(const struct cli_run *run, const iso_result *result)
{
	const struct iso_error *reason = iso_result_error(result);
	enum iso_status status = iso_result_status(result);
	if (reason == NULL)
		return;
	bool about_command = status == ISO_STATUS_FAILED || status == ISO_STATUS_SIGNALED ||
			     status == ISO_STATUS_TIMED_OUT || status == ISO_STATUS_MEMORY_LIMIT ||
			     status == ISO_STATUS_CANCELLED;
	if (about_command &&
	    (run->quiet || (status == ISO_STATUS_FAILED && reason->hint[0] == '\0')))
		return;
	struct iso_error plain = *reason;
	const char *text = strstr(reason->message, ": ");
	if (text != NULL)
		snprintf(plain.message, sizeof(plain.message), "%s", text + 2);
	cli_print_error(&plain);
}

/* The summary that --diff asks for. */
static void report_diff(const iso_result *result)
{
	struct iso_error err = {0};
	ISO_AUTO_FREE char *text = NULL;
	if (iso_result_diff_text(result, &text, &err) < 0)
		cli_print_error(&err);
	else
		fputs(text, stderr);
}

/* Where a request ends: the places that its receipt goes to, opened before anything runs. */
struct ends {
	struct receipt_sink sink;
	struct iso_audit_log log;
	bool has_log;
	const char *policy_sha256; /* borrowed; NULL: no policy */
};

static int open_ends(const struct cli_run *run, struct ends *ends, struct iso_error *err)
{
	const char *workspace = run->request.workspace != NULL ? run->request.workspace : ".";
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (run->audit == NULL && run->receipt == NULL)
		return 0;
	/* A workspace that is none has no place to compare; the run itself will say so. */
	(void)iso_named_path_open(workspace, "the workspace", &named, NULL);
	if (open_sink(run->receipt, &named, &ends->sink, err) < 0)
		return -1;
	if (run->audit == NULL)
		return 0;
	if (iso_audit_open(run->audit, run->audit_key, named.path, true, &ends->log, err) < 0)
		return -1;
	ends->has_log = true;
	return 0;
}

/* Record, then deliver: the receipt says whether it was recorded. 0, or -1 after a message. */
static int finish(const struct cli_run *run, struct ends *ends, iso_result *result)
{
	if (ends->policy_sha256 != NULL)
		memcpy(result->policy_sha256, ends->policy_sha256, sizeof(result->policy_sha256));
	if (ends->has_log)
		iso_result_record(result, &ends->log);
	if (ends->has_log && !result->audit_recorded) {
		struct iso_error err = {0};
		iso_error_set(&err, ISO_ERR_SYSTEM, 0, "record the request in \"%s\": it failed",
			      run->audit);
		cli_print_error(&err);
	}
	int delivered = deliver_receipt(run, &ends->sink, result);
	return ends->has_log && !result->audit_recorded ? -1 : delivered;
}

static int run_request(struct cli_run *run, struct ends *ends)
{
	struct iso_error err = {0};
	iso_engine *engine = NULL;
	iso_result *result = NULL;
	ISO_AUTO_CLOSE int cancel_fd = cli_open_cancel_signals(run->tty, &err);
	run->request.cancel_fd = cancel_fd;
	run->request.stdout_fd = run->json ? -1 : STDOUT_FILENO;
	run->request.stderr_fd = run->json ? -1 : STDERR_FILENO;
	struct cli_terminal terminal = {.raw = false};
	struct cli_status status_line;
	int made = -1;
	cli_status_enter(&status_line, &run->request, run->quiet || run->tty);
	if (cancel_fd >= 0 && iso_engine_new(&engine, &err) == 0 &&
	    (!run->tty || cli_terminal_enter(&terminal, &run->request, &err) == 0))
		made = iso_engine_run(engine, &run->request, &result, &err);
	cli_terminal_leave(&terminal);
	cli_status_leave(&status_line);
	if (made < 0) {
		struct iso_error reason = err;
		made = iso_result_new_refused(&reason, &result, &err);
	}
	iso_engine_free(engine);
	if (made < 0) {
		cli_print_error(&err);
		return CLI_EXIT_FAILED;
	}
	report_end(run, result);
	if (run->diff)
		report_diff(result);
	int code = iso_result_exit_code(result);
	if (finish(run, ends, result) < 0)
		code = CLI_EXIT_FAILED;
	iso_result_free(result);
	return code;
}

/* A request that was refused while it was read also ends in a receipt. */
static int refuse_request(struct cli_run *run, struct ends *ends, const struct iso_error *reason)
{
	iso_result *result = NULL;
	struct iso_error err = {0};
	cli_print_error(reason);
	if (iso_result_new_refused(reason, &result, &err) == 0)
		(void)finish(run, ends, result); /* it prints its own message */
	iso_result_free(result);
	return CLI_EXIT_FAILED;
}

int cli_run(char **argv)
{
	struct cli_run run;
	struct cli_policy policy = {.loaded = {.workspace = {.root_fd = -1}}};
	struct iso_error err = {0}, ends_err = {0};
	struct ends ends = {.sink = {.dir_fd = -1, .fd = -1}, .log = {.fd = -1}};
	char **rest;
	int code = CLI_EXIT_FAILED;
	cli_run_init(&run);
	int status = cli_run_parse(&run, argv, &rest, &err);
	if (status == 0 && !run.help)
		status = cli_policy_apply(&run, &policy, &err);
	if (policy.loaded.sha256[0] != '\0')
		ends.policy_sha256 = policy.loaded.sha256;
	if (run.help) {
		code = cli_help((char *[]){(char *)"run", NULL});
	} else if (open_ends(&run, &ends, &ends_err) < 0) {
		cli_print_error(status < 0 ? &err : &ends_err);
	} else {
		if (status == 0 && policy.loaded.policy.audit_required)
			status = iso_audit_require(ends.has_log ? &ends.log : NULL, &err);
		code = status < 0 ? refuse_request(&run, &ends, &err) : run_request(&run, &ends);
	}
	iso_fd_close(ends.sink.dir_fd);
	if (ends.has_log)
		iso_audit_log_close(&ends.log);
	cli_policy_done(&policy);
	cli_run_done(&run);
	return code;
}

int cli_plan(char **argv)
{
	struct cli_run run;
	struct cli_policy policy = {.loaded = {.workspace = {.root_fd = -1}}};
	struct iso_error err = {0};
	iso_engine *engine = NULL;
	ISO_AUTO_FREE char *json = NULL;
	char **rest;
	int code = CLI_EXIT_FAILED;
	cli_run_init(&run);
	if (cli_run_parse(&run, argv, &rest, &err) == 0 && run.help)
		code = cli_help((char *[]){(char *)"plan", NULL});
	else if (err.code == ISO_OK && cli_policy_apply(&run, &policy, &err) == 0 &&
		 iso_engine_new(&engine, &err) == 0 &&
		 iso_engine_plan(engine, &run.request, &json, &err) == 0)
		code = cli_print_line(json);
	else
		cli_print_error(&err);
	iso_engine_free(engine);
	cli_policy_done(&policy);
	cli_run_done(&run);
	return code;
}
