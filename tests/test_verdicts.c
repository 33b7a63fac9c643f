/*
 * The static verdicts on command lines, from tables that reviewers extend:
 * tests/data/shell_lines.txt (SHELL-1) and tests/data/egress_lines.txt (NET-1).
 */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress.h"
#include "policy/shell/shellcheck.h"
#include "policy/shell/words.h"

#define FEWEST_LINES 60

/* "\n" in the table stands for a newline. */
static void unfold(char *line)
{
	char *out = line;
	for (const char *at = line; *at != '\0'; at++) {
		if (at[0] == '\\' && at[1] == 'n' && strstr(line, "printf") == NULL) {
			*out++ = '\n';
			at++;
		} else {
			*out++ = *at;
		}
	}
	*out = '\0';
}

/* Judge every line of a table by `judge`; fails with all wrong lines at once. */
static void check_table(const char *path, int (*judge)(const char *line, struct iso_error *err),
			const char *before, const char *behind)
{
	FILE *table = fopen(path, "r");
	char line[1024], wrong[8192] = "";
	int passes = 0, refusals = 0;
	assert_non_null(table);
	while (fgets(line, sizeof(line), table) != NULL) {
		char *tab = strchr(line, '\t'), expected[1200] = "";
		if (line[0] == '#' || tab == NULL)
			continue;
		*tab = '\0';
		tab[1 + strcspn(tab + 1, "\n")] = '\0';
		if (strncmp(line, "refuse ", 7) == 0)
			snprintf(expected, sizeof(expected), "%s%s%s", before, line + 7, behind);
		passes += expected[0] == '\0';
		refusals += expected[0] != '\0';
		unfold(tab + 1);
		struct iso_error err = {0};
		int verdict = judge(tab + 1, &err);
		if ((verdict < 0) != (expected[0] != '\0') || strcmp(err.message, expected) != 0)
			snprintf(wrong + strlen(wrong), sizeof(wrong) - strlen(wrong),
				 "%s: got \"%s\", expected \"%s\"\n", tab + 1, err.message,
				 expected);
	}
	fclose(table);
	if (wrong[0] != '\0')
		fail_msg("\n%s", wrong);
	assert_true(passes >= FEWEST_LINES);
	assert_true(refusals >= FEWEST_LINES);
}

static int judge_shell(const char *line, struct iso_error *err)
{
	return iso_shell_check(line, "/w", "/w/sub", err);
}

static void test_SHELL_1_table_of_command_lines(void **state)
{
	(void)state;
	check_table("tests/data/shell_lines.txt", judge_shell, "", "");
}

static int judge_egress(const char *line, struct iso_error *err)
{
	static char *patterns[] = {(char *)"example.org", (char *)"*.example.net",
				   (char *)"192.0.2.7", NULL};
	static const struct iso_strv allow = {patterns, 3};
	return iso_egress_check(&allow, line, err);
}

static void test_NET_1_table_of_command_lines(void **state)
{
	(void)state;
	check_table("tests/data/egress_lines.txt", judge_egress, "domain ",
		    " is outside the egress allowlist");
}

static void test_NET_1_an_empty_list_allows_nothing(void **state)
{
	(void)state;
	const struct iso_strv nothing = {NULL, 0};
	struct iso_error err = {0};
	assert_int_equal(iso_egress_check(&nothing, "make", &err), 0);
	assert_int_equal(iso_egress_check(&nothing, "curl https://example.org", &err), -1);
	assert_string_equal(err.message, "domain example.org is outside the egress allowlist");
}

static void test_NET_1_patterns_of_an_allow_list(void **state)
{
	(void)state;
	static const char *const good[] = {"example.org", "*.example.org", "a-b.c_d.e", "192.0.2.1",
					   "localhost"};
	static const char *const bad[] = {
		"",    "*",	  "*.",	     "Example.org", "a..b", ".a",   "a.",	   "a b",
		"a/b", "*.*.org", "ex*.org", "http://a",    "a:80", "a%2e", "\xc3\xa4.org"};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(iso_egress_is_pattern(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (iso_egress_is_pattern(bad[i]))
			fail_msg("\"%s\" is taken for a pattern", bad[i]);
	}
}

/* Lines that no shell would take must not confuse the reader either. */
static void test_broken_lines_are_read_to_their_end(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"'",
		"\"",
		"`",
		"$(",
		"${",
		"$",
		"\\",
		"<<",
		"<<<",
		">",
		"<(",
		"|",
		"&&",
		"((((",
		"))))",
		"a=",
		"$a$b",
		"{,}",
		"{a,",
		"<<E\nE",
		"<<E",
		"'a\"b`c$(d",
		"\"$(`",
		"cat <<A <<B\na\nA\nb\nB\nx",
		"a=$a$a$a; b=$a$a$a",
		"for x in",
		"for",
		"$(($((1))))",
		"x=;$x",
		"2>&1 >",
		"&>",
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct iso_line line = {0};
		assert_int_equal(iso_line_read(lines[i], &line), 0);
		iso_line_done(&line);
		assert_int_equal(judge_shell(lines[i], NULL), 0);
		assert_int_equal(judge_egress(lines[i], NULL), 0);
	}
}

/* Variables that double each other must not take the memory of the world. */
static void test_growing_variables_are_bounded(void **state)
{
	(void)state;
	char line[4096] = "a=xxxxxxxxxxxxxxxx";
	for (int i = 0; i < 40; i++)
		strcat(line, "; a=$a$a$a$a$a$a$a$a");
	struct iso_line read = {0};
	assert_int_equal(iso_line_read(line, &read), 0);
	iso_line_done(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_SHELL_1_table_of_command_lines),
		cmocka_unit_test(test_NET_1_table_of_command_lines),
		cmocka_unit_test(test_NET_1_an_empty_list_allows_nothing),
		cmocka_unit_test(test_NET_1_patterns_of_an_allow_list),
		cmocka_unit_test(test_broken_lines_are_read_to_their_end),
		cmocka_unit_test(test_growing_variables_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
