/* `isorun run` and `isorun plan`. */
#include <link.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/cli/cli.h"
#include "runner/cli/policy.h"
#include "runner/cli/sink.h"
#include "runner/cli/terminal/signals.h"
#include "runner/cli/terminal/status.h"
#include "runner/cli/terminal/terminal.h"
#include "runner/engine/receipt.h"
#include "runner/ledger/ledger.h"

/* A run that takes longer is waited for in as little memory as can be. */
#define LONG_WAIT_MS 1000

/* A plain exit code speaks for itself; every other end gets a message. */
static void report_end(const struct cli_run *run, const iso_result *result)
{
	const struct iso_error *reason = iso_result_error(result);
	enum iso_status status = iso_result_status(result);
	const char *hint = result->outcome.error.hint;
	if (reason == NULL && hint[0] != '\0')
		fprintf(stderr, "isorun: %s\n", hint);
	if (reason == NULL)
		return;
	bool about_command = status == ISO_STATUS_FAILED || status == ISO_STATUS_SIGNALED ||
			     status == ISO_STATUS_TIMED_OUT || status == ISO_STATUS_MEMORY_LIMIT ||
			     status == ISO_STATUS_CANCELLED;
	if (about_command &&
	    (run->quiet || (status == ISO_STATUS_FAILED && reason->hint[0] == '\0')))
		return;
	cli_print_error(reason);
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

/* Where a request ends: the desk, and the places that its receipt goes to. */
struct ends {
	struct cli_sink sink;
	struct iso_ledger ledger;
	const char *policy_sha256; /* borrowed; NULL: no policy */
	int64_t received_mono_ns;
};

static int open_ends(struct cli_run *run, struct ends *ends, struct iso_error *err)
{
	ends->sink.to_stdout = run->json;
	if (run->audit == NULL && run->receipt == NULL)
		return 0;
	/* What is refused before its places were looked up has some all the same. */
	if (run->writable.count == 0)
		(void)cli_find_writable(run, NULL, NULL);
	if (cli_sink_open(run->receipt, run->receipt_fd, &run->writable, &ends->sink, err) < 0)
		return -1;
	ends->sink.to_stdout = run->json;
	const struct iso_ledger_options options = {
		.log_path = run->audit,
		.key_path = run->audit_key,
		.writable = &run->writable,
	};
	return iso_ledger_open(&options, &ends->ledger, err);
}

/* Record, then deliver: the receipt says whether it was recorded. 0, or -1 after a message. */
static int finish(struct ends *ends, iso_result *result)
{
	struct iso_error err = {0};
	ISO_AUTO_FREE char *receipt = NULL;
	const struct iso_ledger_entry entry = {
		.tool = "run",
		.policy_sha256 = ends->policy_sha256,
		.received_mono_ns = ends->received_mono_ns,
	};
	int status = iso_ledger_finish(&ends->ledger, &entry, result, &receipt, &err);
	if (status == 0 && ends->ledger.has_log && !result->audit_recorded) {
		cli_print_error(&result->audit_error);
		(void)cli_sink_write(&ends->sink, receipt, NULL); /* the first error is told */
		return -1;
	}
	if (status == 0)
		status = cli_sink_write(&ends->sink, receipt, &err);
	if (status < 0)
		cli_print_error(&err);
	return status;
}

/* Give back what the program's own code and constants take of memory: they come again from the page
 * cache, as much of them as waiting needs. */
static int forget_segments(struct dl_phdr_info *program, size_t size, void *data)
{
	(void)size, (void)data;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0)
			continue;
		uintptr_t start = (program->dlpi_addr + segment->p_vaddr) & ~(page - 1);
		uintptr_t end = program->dlpi_addr + segment->p_vaddr + segment->p_memsz;
		(void)madvise((void *)start, end - start, MADV_DONTNEED);
	}
	return 1; /* the first is the program itself */
}

/* From a request to its result. Who waits long, perhaps beside a thousand others, is made small. */
static int run_to_end(iso_station *station, const struct iso_request *request,
		      iso_result **ret_result, struct iso_error *err)
{
	iso_run *run;
	if (iso_run_start(station, request, &run, err) < 0)
		return -1;
	while (iso_run_step(run)) {
		struct pollfd ready = {.fd = iso_run_poll_fd(run), .events = POLLIN};
		if (poll(&ready, 1, LONG_WAIT_MS) != 0)
			continue;
		dl_iterate_phdr(forget_segments, NULL);
		(void)poll(&ready, 1, -1);
	}
	int status = iso_run_take_result(run, ret_result, err);
	iso_run_free(run);
	return status;
}

static int run_request(struct cli_run *run, struct ends *ends)
{
	struct iso_error err = {0};
	iso_station *station = NULL;
	iso_result *result = NULL;
	ISO_AUTO_CLOSE int cancel_fd = cli_open_cancel_signals(run->tty, &err);
	run->request.cancel_fd = cancel_fd;
	run->request.stdout_fd = run->json ? -1 : STDOUT_FILENO;
	run->request.stderr_fd = run->json ? -1 : STDERR_FILENO;
	struct cli_terminal terminal = {.raw = false};
	struct cli_status status_line;
	int made = -1;
	cli_status_enter(&status_line, &run->request, run->quiet || run->tty);
	if (cancel_fd >= 0 && iso_station_new(&station, &err) == 0 &&
	    (!run->tty || cli_terminal_enter(&terminal, &run->request, &err) == 0))
		made = run_to_end(station, &run->request, &result, &err);
	cli_terminal_leave(&terminal);
	cli_status_leave(&status_line);
	if (made < 0) {
		struct iso_error reason = err;
		made = iso_result_new_refused(&reason, &result, &err);
	}
	iso_station_free(station);
	if (made < 0) {
		cli_print_error(&err);
		return CLI_EXIT_FAILED;
	}
	report_end(run, result);
	if (run->diff)
		report_diff(result);
	int code = iso_result_exit_code(result);
	if (finish(ends, result) < 0)
		code = CLI_EXIT_FAILED;
	iso_result_free(result);
	return code;
}

/* A request that was refused while it was read also ends in a receipt. */
static int refuse_request(struct ends *ends, const struct iso_error *reason)
{
	iso_result *result = NULL;
	struct iso_error err = {0};
	cli_print_error(reason);
	if (iso_result_new_refused(reason, &result, &err) == 0)
		(void)finish(ends, result); /* it prints its own message */
	iso_result_free(result);
	return CLI_EXIT_FAILED;
}

int cli_run(const struct cli_command *command, char **argv)
{
	struct cli_run run;
	struct cli_policy policy = {.loaded = {.workspace = {.root_fd = -1}}};
	struct iso_error err = {0}, ends_err = {0};
	struct ends ends = {
		.sink = {.dir_fd = -1, .fd = -1},
		.received_mono_ns = iso_clock_mono_ns(),
	};
	char **rest;
	int code = CLI_EXIT_FAILED;
	cli_run_init(&run);
	int status = cli_run_parse(command, &run, argv, &rest, &err);
	bool help = status == 1;
	if (status == 0)
		status = cli_policy_apply(&run, &policy, &err);
	if (policy.loaded.sha256[0] != '\0')
		ends.policy_sha256 = policy.loaded.sha256;
	if (help) {
		code = cli_explain_command(command);
	} else if (open_ends(&run, &ends, &ends_err) < 0) {
		cli_print_error(status < 0 ? &err : &ends_err);
	} else {
		if (status == 0 && policy.loaded.policy.audit_required)
			status = iso_ledger_require(&ends.ledger, &err);
		code = status < 0 ? refuse_request(&ends, &err) : run_request(&run, &ends);
	}
	cli_sink_close(&ends.sink);
	iso_ledger_close(&ends.ledger);
	cli_policy_done(&policy);
	cli_run_done(&run);
	return code;
}

int cli_plan(const struct cli_command *command, char **argv)
{
	struct cli_run run;
	struct cli_policy policy = {.loaded = {.workspace = {.root_fd = -1}}};
	struct iso_error err = {0};
	iso_station *station = NULL;
	ISO_AUTO_FREE char *json = NULL;
	char **rest;
	int code = CLI_EXIT_FAILED;
	cli_run_init(&run);
	int status = cli_run_parse(command, &run, argv, &rest, &err);
	if (status == 1)
		code = cli_explain_command(command);
	else if (status == 0 && cli_policy_apply(&run, &policy, &err) == 0 &&
		 iso_station_new(&station, &err) == 0 &&
		 iso_station_plan(station, &run.request, &json, &err) == 0)
		code = cli_print_line(json);
	else
		cli_print_error(&err);
	iso_station_free(station);
	cli_policy_done(&policy);
	cli_run_done(&run);
	return code;
}
