/* runner/cli_options: the table parses what help says, and nothing else. */
#include "tests/test.h"

#include <stdio.h>

#include "runner/cli/cli.h"

static int parse(struct cli_run *run, const char *const *words, char ***ret_rest,
		 struct iso_error *err)
{
	cli_run_init(run);
	return cli_run_parse(run, (char **)words, ret_rest, err);
}

static void test_both_spellings_of_a_value(void **state)
{
	(void)state;
	static const char *const spellings[][8] = {
		{"--memory", "64M", "--pids", "7", "--", "cmd", "--memory", NULL},
		{"--memory=64M", "--pids=7", "cmd", "--memory", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		struct cli_run run;
		struct iso_error err = {0};
		char **rest = NULL;
		assert_int_equal(parse(&run, spellings[i], &rest, &err), 0);
		assert_true(run.request.memory_max_bytes == 64 << 20);
		assert_true(run.request.pids_max_count == 7);
		assert_string_equal(rest[0], "cmd");
		assert_string_equal(rest[1], "--memory");
		cli_run_done(&run);
	}
}

static void test_every_option_is_found_and_needs_its_value(void **state)
{
	(void)state;
	for (size_t i = 0; i < cli_run_option_count; i++) {
		const struct cli_option *option = &cli_run_options[i];
		char name[64], with_value[80];
		snprintf(name, sizeof(name), "--%s", option->name);
		snprintf(with_value, sizeof(with_value), "--%s=x", option->name);
		struct cli_run run;
		struct iso_error err = {0};
		char **rest = NULL;
		assert_true(strlen(option->help) > 5);
		if (option->argument != NULL) {
			const char *const words[] = {name, NULL};
			assert_int_equal(parse(&run, words, &rest, &err), -1);
			assert_non_null(strstr(err.message, "is missing"));
		} else {
			const char *const words[] = {with_value, NULL};
			assert_int_equal(parse(&run, words, &rest, &err), -1);
			assert_non_null(strstr(err.message, "takes no value"));
		}
		cli_run_done(&run);
	}
}

static void test_unknown_options_are_refused_by_name(void **state)
{
	(void)state;
	static const char *const unknown[] = {"--bogus", "-x", "--mem", "---memory", "--memoryx=1"};
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		const char *const words[] = {unknown[i], "--", "cmd", NULL};
		struct cli_run run;
		struct iso_error err = {0};
		char **rest = NULL;
		assert_int_equal(parse(&run, words, &rest, &err), -1);
		assert_non_null(strstr(err.message, unknown[i]));
		cli_run_done(&run);
	}
}

static void test_the_receipt_is_known_after_a_refused_option(void **state)
{
	(void)state;
	static const char *const rows[][6] = {
		{"--bogus", "--receipt", "r", "--", "cmd", NULL},
		{"--memory", "x", "--receipt=r", "--", "cmd", NULL},
		{"--receipt", "r", "--bogus", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cli_run run;
		struct iso_error err = {0};
		char **rest = NULL;
		assert_int_equal(parse(&run, rows[i], &rest, &err), -1);
		assert_non_null(run.receipt);
		assert_string_equal(run.receipt, "r");
		cli_run_done(&run);
	}
	static const char *const of_command[] = {"--bogus", "--", "cmd", "--receipt", "r", NULL};
	struct cli_run run;
	struct iso_error err = {0};
	char **rest = NULL;
	assert_int_equal(parse(&run, of_command, &rest, &err), -1);
	assert_null(run.receipt);
	cli_run_done(&run);
}

static void test_mounts_and_variables_accumulate(void **state)
{
	(void)state;
	static const char *const words[] = {"--ro",	"/a", "--rw",  "/b:/c", "--tmpfs", "/d:4M",
					    "--hide",	"/e", "--env", "A=1",	"--env",   "A=2",
					    "--env=B=", "--", "cmd",   NULL};
	struct cli_run run;
	struct iso_error err = {0};
	char **rest = NULL;
	assert_int_equal(parse(&run, words, &rest, &err), 0);
	assert_int_equal(run.request.mount_count, 4);
	const struct iso_mount *mounts = run.request.mounts;
	assert_int_equal(mounts[0].kind, ISO_MOUNT_RO);
	assert_string_equal(mounts[0].source, "/a");
	assert_null(mounts[0].target);
	assert_int_equal(mounts[1].kind, ISO_MOUNT_RW);
	assert_string_equal(mounts[1].source, "/b");
	assert_string_equal(mounts[1].target, "/c");
	assert_string_equal(mounts[2].target, "/d");
	assert_true(mounts[2].size_bytes == 4 << 20);
	assert_int_equal(mounts[3].kind, ISO_MOUNT_HIDE);
	assert_string_equal(run.request.env[0], "A=2");
	assert_string_equal(run.request.env[1], "B=");
	assert_null(run.request.env[2]);
	cli_run_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_spellings_of_a_value),
		cmocka_unit_test(test_every_option_is_found_and_needs_its_value),
		cmocka_unit_test(test_unknown_options_are_refused_by_name),
		cmocka_unit_test(test_the_receipt_is_known_after_a_refused_option),
		cmocka_unit_test(test_mounts_and_variables_accumulate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
