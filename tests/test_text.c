/* runner/base: utf8, path, strv, error, clock, digest. */
#include "tests/test.h"

#include <errno.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/base/text/strv.h"
#include "runner/base/text/utf8.h"

static void test_utf8_accepts_exactly_the_standard(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size, expected;
	} rows[] = {
		{"a", 1, 1},
		{"\x7f", 1, 1},
		{"\xc3\xa4", 2, 2},
		{"\xe2\x82\xac", 3, 3},
		{"\xf0\x9f\x98\x80", 4, 4},
		{"\xf4\x8f\xbf\xbf", 4, 4},
		{"\x80", 1, 0},
		{"\xc0\x80", 2, 0},
		{"\xc1\xbf", 2, 0},
		{"\xe0\x80\x80", 3, 0},
		{"\xed\xa0\x80", 3, 0},
		{"\xed\x9f\xbf", 3, 3},
		{"\xf0\x80\x80\x80", 4, 0},
		{"\xf4\x90\x80\x80", 4, 0},
		{"\xf5\x80\x80\x80", 4, 0},
		{"\xff", 1, 0},
		{"\xe2\x82", 2, 0},
		{"\xc3"
		 "a",
		 2, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t length = iso_utf8_sequence((const uint8_t *)rows[i].bytes, rows[i].size);
		if (length != rows[i].expected)
			fail_msg("row %zu: %zu instead of %zu", i, length, rows[i].expected);
	}
}

static void test_utf8_cuts_keep_characters_whole(void **state)
{
	(void)state;
	const uint8_t *text = (const uint8_t *)"a\xf0\x9f\x98\x80z";
	assert_int_equal(iso_utf8_trim_end(text, 1), 1);
	assert_int_equal(iso_utf8_trim_end(text, 2), 1);
	assert_int_equal(iso_utf8_trim_end(text, 3), 1);
	assert_int_equal(iso_utf8_trim_end(text, 4), 1);
	assert_int_equal(iso_utf8_trim_end(text, 5), 5);
	assert_int_equal(iso_utf8_trim_start(text + 1, 5), 0);
	assert_int_equal(iso_utf8_trim_start(text + 2, 4), 3);
	assert_int_equal(iso_utf8_trim_start(text + 4, 2), 1);
	assert_int_equal(iso_utf8_trim_end((const uint8_t *)"\x80\x80\x80\x80", 4), 4);
	assert_int_equal(iso_utf8_trim_end(text, 0), 0);
}

static void test_utf8_replacement_is_always_text(void **state)
{
	(void)state;
	const uint8_t bytes[] = {'a', 0, 0xff, 0xc3, 0xa4, 0xed, 0xa0, 0x80};
	char *text = iso_utf8_replace(bytes, sizeof(bytes));
	assert_string_equal(
		text, "a\xEF\xBF\xBD\xEF\xBF\xBD\xc3\xa4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
	assert_true(iso_utf8_is_text((const uint8_t *)text, strlen(text)));
	assert_false(iso_utf8_is_text(bytes, 2));
	free(text);
}

static void test_paths_are_judged_by_component(void **state)
{
	(void)state;
	static const char *const normal[] = {"/", "/a", "/a/b", "/...", "/a/.b"};
	static const char *const not_normal[] = {"",	  "a",	"/a/",	 "//a",
						 "/a//b", "/.", "/a/..", "/../a"};
	for (size_t i = 0; i < ARRAY_SIZE(normal); i++)
		assert_true(iso_path_is_normal(normal[i]));
	for (size_t i = 0; i < ARRAY_SIZE(not_normal); i++)
		assert_false(iso_path_is_normal(not_normal[i]));
	assert_true(iso_path_is_beneath("/a/b", "/a"));
	assert_true(iso_path_is_beneath("/a", "/a"));
	assert_true(iso_path_is_beneath("/a", "/"));
	assert_true(iso_path_is_beneath("/", "/"));
	assert_false(iso_path_is_beneath("/ab", "/a"));
	assert_false(iso_path_is_beneath("/", "/a"));
}

static void test_paths_are_normalised_without_the_file_system(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"/a//b/./c/", "/a/b/c"}, {"/", "/"},  {"//", "/"}, {"/./", "/"},
		{"/a/../b", NULL},	  {"a", NULL}, {"", NULL},  {"/..", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *path = iso_path_normalise(rows[i][0]);
		if (rows[i][1] == NULL)
			assert_null(path);
		else
			assert_string_equal(path, rows[i][1]);
		free(path);
	}
}

static void test_strv_grows_and_replaces_variables(void **state)
{
	(void)state;
	struct iso_strv strv = {0};
	for (int i = 0; i < 100; i++)
		assert_int_equal(iso_strv_addf(&strv, "V%d=%d", i, i), 0);
	assert_int_equal(strv.count, 100);
	assert_null(strv.items[100]);
	assert_string_equal(iso_strv_find_variable(&strv, "V42"), "V42=42");
	assert_null(iso_strv_find_variable(&strv, "V4x"));
	assert_null(iso_strv_find_variable(&strv, "V"));
	assert_int_equal(iso_strv_set_variable(&strv, "V42=new=value"), 0);
	assert_string_equal(iso_strv_find_variable(&strv, "V42"), "V42=new=value");
	assert_int_equal(strv.count, 100);
	assert_int_equal(iso_strv_set_variable(&strv, "NEW="), 0);
	assert_int_equal(strv.count, 101);
	iso_strv_done(&strv);
	iso_strv_done(&strv);
}

static void test_errors_name_attempt_object_and_reason(void **state)
{
	(void)state;
	struct iso_error err = {0};
	assert_int_equal(iso_error_set(&err, ISO_ERR_SYSTEM, ENOENT, "open \"%s\"", "x"), -1);
	assert_string_equal(err.message, "open \"x\": No such file or directory");
	iso_error_hint(&err, "create it");
	assert_string_equal(err.hint, "create it");
	iso_error_set(&err, ISO_ERR_INVALID, 0, "plain");
	assert_string_equal(err.message, "plain");
	assert_string_equal(err.hint, "");
	assert_int_equal(iso_error_set(NULL, ISO_ERR_INVALID, 0, "nobody listens"), -1);
	char longer[2000];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	iso_error_set(&err, ISO_ERR_SYSTEM, ENOENT, "%s", longer);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void test_deadlines_saturate(void **state)
{
	(void)state;
	assert_true(iso_deadline_after(1000, UINT64_MAX) == ISO_NEVER);
	assert_true(iso_deadline_after(INT64_MAX - 5, 1) == ISO_NEVER);
	assert_true(iso_deadline_after(7, 2) == 2000007);
	assert_int_equal(iso_deadline_poll_ms(ISO_NEVER, 0), -1);
	assert_int_equal(iso_deadline_poll_ms(5, 5), 0);
	assert_int_equal(iso_deadline_poll_ms(4, 5), 0);
	assert_int_equal(iso_deadline_poll_ms(1, 0), 1);
	assert_int_equal(iso_deadline_poll_ms(1000000, 0), 1);
	assert_int_equal(iso_deadline_poll_ms(1000001, 0), 2);
	assert_int_equal(iso_deadline_poll_ms(INT64_MAX - 1, 0), INT32_MAX);
	assert_true(iso_deadline_min(3, 4) == 3);
	char text[ISO_TIMESTAMP_SIZE];
	iso_clock_format_unix_ms(1767323045678, text);
	assert_string_equal(text, "2026-01-02T03:04:05.678Z");
}

static void test_digest_is_sha256(void **state)
{
	(void)state;
	char hex[ISO_SHA256_HEX_SIZE];
	iso_sha256_hex("abc", 3, hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	iso_sha256_hex("", 0, hex);
	assert_string_equal(hex,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8_accepts_exactly_the_standard),
		cmocka_unit_test(test_utf8_cuts_keep_characters_whole),
		cmocka_unit_test(test_utf8_replacement_is_always_text),
		cmocka_unit_test(test_paths_are_judged_by_component),
		cmocka_unit_test(test_paths_are_normalised_without_the_file_system),
		cmocka_unit_test(test_strv_grows_and_replaces_variables),
		cmocka_unit_test(test_errors_name_attempt_object_and_reason),
		cmocka_unit_test(test_deadlines_saturate),
		cmocka_unit_test(test_digest_is_sha256),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
