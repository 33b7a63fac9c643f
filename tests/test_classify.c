/* sandbox/classify and sandbox/report: every ending has its name, code and reason (RUN-8). */
#include "tests/test.h"

#include <stdio.h>

#include <errno.h>
#include <signal.h>

#include "sandbox/watch/classify.h"
#include "sandbox/watch/report.h"

#define EXITED(code)	 ((code) << 8)
#define SIGNALED(number) (number)

static struct iso_plan test_plan(void)
{
	static char *argv[] = {(char *)"prog", NULL};
	struct iso_plan plan = {
		.world = {.hostname = (char *)"h",
			  .limits = {.memory_max_bytes = 64, .pids_max_count = 8}},
		.command = {.argv = {argv, 1},
			    .workdir = (char *)"/w",
			    .limits = {.wall_ms = 1000}},
	};
	return plan;
}

/* As a receipt has it. */
static const char *sentence(const struct iso_outcome *outcome, char text[700])
{
	text[0] = '\0';
	if (outcome->error_class != ISO_CLASS_NONE)
		snprintf(text, 700, "%s: %s", iso_class_name(outcome->error_class),
			 outcome->error.message);
	return text;
}

struct row {
	const char *what;
	struct iso_ending ending;
	uint64_t oom_kills, pids_hits;
	enum iso_status status;
	int code;
	const char *message;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct iso_plan plan = test_plan();
		struct iso_cgroup_usage usage = {.oom_kills = rows[i].oom_kills,
						 .pids_limit_hits = rows[i].pids_hits};
		struct iso_outcome outcome;
		char text[700];
		iso_classify(&plan, &rows[i].ending, &usage, &outcome);
		if (outcome.status != rows[i].status || outcome.exit_code != rows[i].code ||
		    strcmp(sentence(&outcome, text), rows[i].message) != 0)
			fail_msg("%s: status %d, code %d, \"%s\"", rows[i].what, outcome.status,
				 outcome.exit_code, text);
		assert_true((outcome.error.code == ISO_OK) ==
			    (outcome.status == ISO_STATUS_COMPLETED));
	}
}

static const struct row ended_by_itself[] = {
	{"exit 0", {.started = true, .exited = true}, 0, 0, ISO_STATUS_COMPLETED, 0, ""},
	{"exit 0 with a process limit hit",
	 {.started = true, .exited = true},
	 0,
	 3,
	 ISO_STATUS_COMPLETED,
	 0,
	 ""},
	{"exit 3",
	 {.started = true, .exited = true, .wait_status = EXITED(3)},
	 0,
	 0,
	 ISO_STATUS_FAILED,
	 3,
	 "CommandFailed: Command exited 3"},
	{"exit 1 with a process limit hit",
	 {.started = true, .exited = true, .wait_status = EXITED(1)},
	 0,
	 3,
	 ISO_STATUS_FAILED,
	 1,
	 "CommandFailed: Command exited 1 (the limit of 8 processes was hit 3 times)"},
	{"SIGSEGV",
	 {.started = true, .exited = true, .wait_status = SIGNALED(SIGSEGV)},
	 0,
	 0,
	 ISO_STATUS_SIGNALED,
	 139,
	 "CommandSignaled: Command killed by SIGSEGV"},
	{"SIGSYS",
	 {.started = true, .exited = true, .wait_status = SIGNALED(SIGSYS)},
	 0,
	 0,
	 ISO_STATUS_SIGNALED,
	 159,
	 "CommandSignaled: Command killed by SIGSYS: the seccomp filter refused a system "
	 "call"},
};

static void test_a_payload_that_ends_by_itself(void **state)
{
	(void)state;
	check_rows(ended_by_itself, ARRAY_SIZE(ended_by_itself));
}

static const struct row ended_by_limit_or_cancel[] = {
	{"SIGKILL for memory",
	 {.started = true, .exited = true, .wait_status = SIGNALED(9)},
	 1,
	 0,
	 ISO_STATUS_MEMORY_LIMIT,
	 137,
	 "MemoryLimit: Command exceeded its memory limit of 64 bytes"},
	{"all killed for memory, the init too",
	 {.started = true},
	 2,
	 0,
	 ISO_STATUS_MEMORY_LIMIT,
	 137,
	 "MemoryLimit: Command exceeded its memory limit of 64 bytes"},
	{"memory, announced by v1",
	 {.started = true, .oom_seen = true, .killed = true},
	 0,
	 0,
	 ISO_STATUS_MEMORY_LIMIT,
	 137,
	 "MemoryLimit: Command exceeded its memory limit of 64 bytes"},
	{"a child was killed for memory, the payload failed then",
	 {.started = true, .exited = true, .wait_status = EXITED(1)},
	 1,
	 0,
	 ISO_STATUS_MEMORY_LIMIT,
	 137,
	 "MemoryLimit: Command exceeded its memory limit of 64 bytes"},
	{"deadline",
	 {.started = true, .deadline_passed = true, .killed = true},
	 0,
	 0,
	 ISO_STATUS_TIMED_OUT,
	 124,
	 "Timeout: Command exceeded its wall limit of 1000 ms"},
	{"deadline, and the payload obeyed TERM with 0",
	 {.started = true, .exited = true, .deadline_passed = true},
	 0,
	 0,
	 ISO_STATUS_TIMED_OUT,
	 124,
	 "Timeout: Command exceeded its wall limit of 1000 ms"},
	{"cancelled",
	 {.started = true, .cancel_signal = SIGINT, .killed = true},
	 0,
	 0,
	 ISO_STATUS_CANCELLED,
	 130,
	 "Cancelled: received SIGINT, which ended the command"},
};

static void test_a_payload_that_a_limit_or_a_cancel_ends(void **state)
{
	(void)state;
	check_rows(ended_by_limit_or_cancel, ARRAY_SIZE(ended_by_limit_or_cancel));
}

static const struct row failed[] = {
	{"set-up hangs",
	 {.setup_timed_out = true},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 125,
	 "LaunchFailed: set up the isolation: it hangs"},
	{"set-up hangs somewhere",
	 {.setup_timed_out = true, .setup_at = (uint64_t)ISO_STEP_LOOPBACK << 32},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 125,
	 "LaunchFailed: bring up the loopback interface: it hangs"},
	{"set-up vanished",
	 {0},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 125,
	 "LaunchFailed: the set-up process ended without a word"},
	{"init killed",
	 {.started = true},
	 0,
	 0,
	 ISO_STATUS_INTERNAL_ERROR,
	 125,
	 "InternalError: the sandbox's init was killed from outside"},
	{"not found",
	 {.failure = {ISO_RECORD_FAILED, ISO_STEP_EXEC, 0, ENOENT}},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 127,
	 "CommandNotFound: execute \"prog\": No such file or directory"},
	{"no directory on the way",
	 {.failure = {ISO_RECORD_FAILED, ISO_STEP_EXEC, 0, ENOTDIR}},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 127,
	 "CommandNotFound: execute \"prog\": Not a directory"},
	{"not executable",
	 {.failure = {ISO_RECORD_FAILED, ISO_STEP_EXEC, 0, EACCES}},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 126,
	 "CommandNotExecutable: execute \"prog\": Permission denied"},
	{"not a program",
	 {.failure = {ISO_RECORD_FAILED, ISO_STEP_EXEC, 0, ENOEXEC}},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 126,
	 "CommandNotExecutable: execute \"prog\": Exec format error"},
	{"a set-up step",
	 {.failure = {ISO_RECORD_FAILED, ISO_STEP_PIVOT, 0, EPERM}},
	 0,
	 0,
	 ISO_STATUS_LAUNCH_FAILED,
	 125,
	 "LaunchFailed: change the root: Operation not permitted"},
};

static void test_a_launch_or_a_sandbox_that_fails(void **state)
{
	(void)state;
	check_rows(failed, ARRAY_SIZE(failed));
}

static void test_unknown_counters_are_no_limits_hit(void **state)
{
	(void)state;
	struct iso_plan plan = test_plan();
	struct iso_ending ending = {.started = true, .exited = true, .wait_status = EXITED(1)};
	struct iso_cgroup_usage usage = {.oom_kills = ISO_UNKNOWN, .pids_limit_hits = ISO_UNKNOWN};
	struct iso_outcome outcome;
	iso_classify(&plan, &ending, &usage, &outcome);
	char text[700];
	assert_string_equal(sentence(&outcome, text), "CommandFailed: Command exited 1");
}

static void test_refusals(void **state)
{
	(void)state;
	static const struct {
		enum iso_code code;
		enum iso_status status;
		const char *message;
	} rows[] = {
		{ISO_ERR_INVALID, ISO_STATUS_INVALID, "Invalid: x"},
		{ISO_ERR_DENIED, ISO_STATUS_DENIED, "Denied: x"},
		{ISO_ERR_UNSUPPORTED, ISO_STATUS_LAUNCH_FAILED, "LaunchFailed: x"},
		{ISO_ERR_SYSTEM, ISO_STATUS_LAUNCH_FAILED, "LaunchFailed: x"},
		{ISO_ERR_LAUNCH, ISO_STATUS_LAUNCH_FAILED, "LaunchFailed: x"},
		{ISO_ERR_NOMEM, ISO_STATUS_INTERNAL_ERROR, "InternalError: x"},
		{ISO_ERR_INTERNAL, ISO_STATUS_INTERNAL_ERROR, "InternalError: x"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_error reason = {.code = rows[i].code, .message = "x", .hint = "do y"};
		struct iso_outcome outcome;
		iso_classify_refused(&reason, &outcome);
		assert_int_equal(outcome.status, rows[i].status);
		assert_int_equal(outcome.exit_code, 125);
		char text[700];
		assert_string_equal(sentence(&outcome, text), rows[i].message);
		assert_string_equal(outcome.error.hint, "do y");
		assert_int_equal(outcome.payload_exit, -1);
	}
}

static void test_reports_name_the_mount(void **state)
{
	(void)state;
	struct iso_fsop ops[] = {
		{.kind = ISO_FSOP_BIND, .target = (char *)"/usr", .source = (char *)"/usr"},
		{.kind = ISO_FSOP_BIND, .target = (char *)"/b", .source = (char *)"/a"},
		{.kind = ISO_FSOP_PROC, .target = (char *)"/proc"},
	};
	struct iso_plan plan = test_plan();
	plan.world.fsops = ops;
	plan.world.fsop_count = ARRAY_SIZE(ops);
	static const struct {
		uint32_t index;
		int os_errno;
		const char *message;
	} rows[] = {
		{0, EPERM, "mount 0: bind \"/usr\": Operation not permitted"},
		{1, ENOENT, "mount 1: bind \"/a\" at \"/b\": No such file or directory"},
		{1, ESTALE,
		 "mount 1: bind \"/a\" at \"/b\": it was replaced since the plan was made"},
		{9, EIO, "mount 9: Input/output error"},
	};
	struct iso_error error;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_record record = {ISO_RECORD_FAILED, ISO_STEP_FSOP, rows[i].index,
					    rows[i].os_errno};
		iso_report_failure(&plan, &record, &error);
		assert_string_equal(error.message, rows[i].message);
	}
	struct iso_record masked = {ISO_RECORD_FAILED, ISO_STEP_FSOP, 2, EPERM};
	iso_report_failure(&plan, &masked, &error);
	assert_non_null(strstr(error.hint, "partly covered")); /* T02 */
	struct iso_record id_map = {ISO_RECORD_FAILED, ISO_STEP_ID_MAP, 0, EPERM};
	iso_report_failure(&plan, &id_map, &error);
	assert_non_null(strstr(error.hint, "apparmor_restrict_unprivileged_userns")); /* T01 */
}

static void test_every_step_has_words(void **state)
{
	(void)state;
	for (uint32_t step = 1; step < ISO_STEP_COUNT; step++)
		assert_true(strlen(iso_step_text(step)) > 5);
	assert_string_equal(iso_step_text(ISO_STEP_COUNT), "");
}

static void test_every_status_has_a_name(void **state)
{
	(void)state;
	for (int status = ISO_STATUS_UNSET; status <= ISO_STATUS_INTERNAL_ERROR; status++)
		assert_non_null(iso_status_name((enum iso_status)status));
	char name[ISO_SIGNAL_NAME_SIZE];
	iso_signal_name(SIGTERM, name);
	assert_string_equal(name, "SIGTERM");
	iso_signal_name(63, name);
	assert_string_equal(name, "SIG63");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_payload_that_ends_by_itself),
		cmocka_unit_test(test_a_payload_that_a_limit_or_a_cancel_ends),
		cmocka_unit_test(test_a_launch_or_a_sandbox_that_fails),
		cmocka_unit_test(test_unknown_counters_are_no_limits_hit),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_reports_name_the_mount),
		cmocka_unit_test(test_every_step_has_words),
		cmocka_unit_test(test_every_status_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
