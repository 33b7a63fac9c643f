/* runner/cli: the tables parses what help says, and nothing else. */
#include "tests/test.h"

#include <stdio.h>

#include "runner/cli/cli.h"

static int parse(struct cli_run *run, const char *const *words, char ***ret_rest,
		 struct iso_error *err)
{
	cli_run_init(run);
	char *name[] = {(char *)"run", NULL}, **rest;
	return cli_run_parse(cli_find_command(name, &rest), run, (char **)words, ret_rest, err);
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

/* The rows of every command, read into memory that is large enough for any of their structures. */
static void test_every_option_is_found_and_needs_its_value(void **state)
{
	(void)state;
	size_t seen = 0;
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *command = &cli_commands[i];
		for (const struct cli_option *option = command->options; option->name != NULL;
		     option++) {
			static char target[8192];
			char name[64], with_value[80];
			char *words[] = {option->argument != NULL ? name : with_value, NULL};
			snprintf(name, sizeof(name), "--%s", option->name);
			snprintf(with_value, sizeof(with_value), "--%s=x", option->name);
			struct iso_error err = {0};
			char **rest = NULL;
			assert_true(strlen(option->help) > 5);
			assert_int_equal(cli_options_read(command, target, words, &rest, &err), -1);
			if (strstr(err.message,
				   option->argument != NULL ? "is missing" : "takes no value") ==
			    NULL)
				fail_msg("%s --%s: %s", command->name, option->name, err.message);
			seen++;
		}
	}
	assert_true(seen > 60);
}

static void test_every_row_fits_its_kind(void **state)
{
	(void)state;
	static const size_t sizes[] = {
		[CLI_CALL] = 0,	    [CLI_FLAG] = sizeof(bool), [CLI_TEXT] = sizeof(char *),
		[CLI_SIZE] = 8,	    [CLI_COUNT] = 8,	       [CLI_ID] = 8,
		[CLI_DURATION] = 8, [CLI_DURATION_OR_0] = 8,   [CLI_CPUS] = 8,
	};
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_option *options = cli_commands[i].options;
		for (const struct cli_option *option = options; option->name != NULL; option++) {
			assert_true((option->kind == CLI_CALL) == (option->apply != NULL));
			assert_true((option->kind == CLI_CHOICE) == (option->choices != NULL));
			if (option->kind == CLI_CHOICE)
				assert_true(option->size == sizeof(int) ||
					    option->size == sizeof(bool));
			else
				assert_int_equal(option->size, sizes[option->kind]);
			assert_true(option->kind != CLI_FLAG || option->argument == NULL);
			for (const struct cli_option *other = options; other != option; other++)
				assert_string_not_equal(other->name, option->name);
		}
	}
}

static void test_values_are_read_by_their_kind(void **state)
{
	(void)state;
	static const struct {
		const char *word, *refusal; /* NULL: it is fine */
	} rows[] = {
		{"--memory=64M", NULL},
		{"--memory=0", "a positive whole number with an optional K, M or G is needed"},
		{"--pids=0", "a positive whole number is needed"},
		{"--uid=4294967294", NULL},
		{"--uid=4294967295", "a number from 0 to 4294967294 is needed"},
		{"--timeout=0", "a positive duration such as 90, 1.5s, 200ms, 10m or 1h is needed"},
		{"--grace=0", NULL},
		{"--grace=x", "a duration such as 5s, or 0, is needed"},
		{"--cpus=0.5", NULL},
		{"--cpus=-1", "a number such as 2 or 0.5 is needed"},
		{"--detached=wait", NULL},
		{"--detached=stay", "kill or wait is needed"},
		{"--workspace-mode=rx", "rw or ro is needed"},
		{"--keep=middle", "head or tail is needed"},
		{"--cgroup=no", "required or optional is needed"},
		{"--network=host", "only none is possible"},
		{"--receipt=", "a file name or fd:N is needed"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const words[] = {rows[i].word, "--", "cmd", NULL};
		struct cli_run run;
		struct iso_error err = {0};
		char **rest = NULL;
		int status = parse(&run, words, &rest, &err);
		if ((status == 0) != (rows[i].refusal == NULL) ||
		    (status < 0 && strstr(err.message, rows[i].refusal) == NULL))
			fail_msg("%s: %d \"%s\"", rows[i].word, status, err.message);
		cli_run_done(&run);
	}
}

static void test_help_is_an_option_of_every_command(void **state)
{
	(void)state;
	static char help[] = "--help";
	for (size_t i = 0; i < cli_command_count; i++) {
		static char target[8192];
		char *words[] = {help, NULL};
		struct iso_error err = {0};
		char **rest = NULL;
		assert_int_equal(cli_options_read(&cli_commands[i], target, words, &rest, &err), 1);
	}
}

static void test_commands_are_found_by_their_words(void **state)
{
	(void)state;
	static const struct {
		const char *words[4];
		const char *name; /* NULL: there is none */
		const char *rest;
	} rows[] = {
		{{"run", "--", "x", NULL}, "run", "--"},
		{{"audit", "verify", "f", NULL}, "audit verify", "f"},
		{{"audit", "frobnicate", NULL}, "audit", "frobnicate"},
		{{"verify", NULL}, NULL, NULL},
		{{"ru", NULL}, NULL, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char **rest = NULL;
		const struct cli_command *command =
			cli_find_command((char **)(uintptr_t)rows[i].words, &rest);
		assert_true((command == NULL) == (rows[i].name == NULL));
		if (command == NULL)
			continue;
		assert_string_equal(command->name, rows[i].name);
		assert_string_equal(*rest, rows[i].rest);
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
	static const char *const of_command[][6] = {
		{"--bogus", "--", "cmd", "--receipt", "r", NULL},
		{"--bogus", "cmd", "--receipt", "r", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(of_command); i++) {
		struct cli_run run;
		struct iso_error err = {0};
		char **rest = NULL;
		assert_int_equal(parse(&run, of_command[i], &rest, &err), -1);
		assert_null(run.receipt);
		cli_run_done(&run);
	}
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
		cmocka_unit_test(test_every_row_fits_its_kind),
		cmocka_unit_test(test_values_are_read_by_their_kind),
		cmocka_unit_test(test_help_is_an_option_of_every_command),
		cmocka_unit_test(test_commands_are_found_by_their_words),
		cmocka_unit_test(test_unknown_options_are_refused_by_name),
		cmocka_unit_test(test_the_receipt_is_known_after_a_refused_option),
		cmocka_unit_test(test_mounts_and_variables_accumulate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
