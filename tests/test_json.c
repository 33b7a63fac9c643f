/* runner/base/json_read: strict JSON, and where it is wrong (POL-5). */
#include "tests/test.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/text/json_read.h"

static void test_POL_5_what_is_json_is_read(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"null",
		" true ",
		"[]",
		"{}",
		"-0",
		"-0.5e+10",
		"1E2",
		"[1,[2,[3]],{\"a\":{\"b\":[]}}]",
		"\"\"",
		"\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\"",
		"{\"\":0,\" \":0}",
		"\t{\r\n\"a\" : 1 , \"b\":2}\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_error err = {0};
		cJSON *root = NULL;
		if (iso_json_parse("it", rows[i], strlen(rows[i]), &root, &err) < 0)
			fail_msg("%s: %s", rows[i], err.message);
		cJSON_Delete(root);
	}
}

static void test_POL_5_what_is_not_json_is_refused_with_its_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "read it: $: this is no JSON value (line 1)"},
		{"[1,]", "read it: $[1]: this is no JSON value (line 1)"},
		{"[1 2]", "read it: $[0]: a comma or ] is missing behind it (line 1)"},
		{"{\"a\":1,}", "read it: $: a name in quotes is missing (line 1)"},
		{"{\"a\" 1}", "read it: $.a: a colon is missing behind the name (line 1)"},
		{"{\"a\":1 \"b\":2}", "read it: $: a comma or } is missing (line 1)"},
		{"{\"a\":\n{\"b\":[0,\n01]}}", "read it: $.a.b[1]: this is no JSON value (line 3)"},
		{"{\"a\":1,\"a\":1}", "read it: $.a: this name is there twice (line 1)"},
		{"{\"a\":1,\"\\u0061\":1}", "read it: $.a: this name is there twice (line 1)"},
		{"1.", "read it: $: this is no JSON value (line 1)"},
		{".5", "read it: $: this is no JSON value (line 1)"},
		{"+1", "read it: $: this is no JSON value (line 1)"},
		{"1e", "read it: $: this is no JSON value (line 1)"},
		{"NaN", "read it: $: this is no JSON value (line 1)"},
		{"Infinity", "read it: $: this is no JSON value (line 1)"},
		{"nul", "read it: $: this is no JSON value (line 1)"},
		{"{} x", "read it: $: something stands behind the value (line 1)"},
		{"{}{}", "read it: $: something stands behind the value (line 1)"},
		{"// no\n1", "read it: $: this is no JSON value (line 1)"},
		{"'a'", "read it: $: this is no JSON value (line 1)"},
		{"\"a", "read it: $: this string does not end (line 1)"},
		{"\"a\\\"", "read it: $: this string does not end (line 1)"},
		{"\"a\\", "read it: $: this string does not end (line 1)"},
		{"\"\\x\"", "read it: $: this escape is invalid (line 1)"},
		{"\"\\u12g4\"", "read it: $: this \\u escape is invalid (line 1)"},
		{"\"\\ud800\"", "read it: $: this \\u escape is invalid (line 1)"},
		{"\"\\ude00\\ud83d\"", "read it: $: this \\u escape is invalid (line 1)"},
		{"[\"a\\u0000b\"]", "read it: $[0]: NUL in a string (line 1)"},
		{"\"a\tb\"", "read it: $: a control character in a string (line 1)"},
		{"\"\xff\"", "read it: $: a string that is not UTF-8 (line 1)"},
		{"\"\xed\xa0\x80\"", "read it: $: a string that is not UTF-8 (line 1)"},
		{"\xef\xbb\xbf{}", "read it: $: this is no JSON value (line 1)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_error err = {0};
		cJSON *root = NULL;
		assert_int_equal(
			iso_json_parse("it", rows[i].text, strlen(rows[i].text), &root, &err), -1);
		assert_null(root);
		assert_string_equal(err.message, rows[i].message);
	}
	struct iso_error err = {0};
	cJSON *root = NULL;
	assert_int_equal(iso_json_parse("it", "1\0", 2, &root, &err), -1);
}

/* `count` times `opening`, then as many `closing`. */
static char *nested(size_t count)
{
	char *text = calloc(1, 2 * count + 1);
	memset(text, '[', count);
	memset(text + count, ']', count);
	return text;
}

static void test_POL_5_depth_and_size_are_bounded(void **state)
{
	(void)state;
	struct iso_error err = {0};
	cJSON *root = NULL;
	char *text = nested(ISO_JSON_DEPTH_MAX);
	assert_int_equal(iso_json_parse("it", text, strlen(text), &root, &err), 0);
	cJSON_Delete(root);
	free(text);
	text = nested(ISO_JSON_DEPTH_MAX + 1);
	assert_int_equal(iso_json_parse("it", text, strlen(text), &root, &err), -1);
	assert_non_null(strstr(err.message, "nested too deeply"));
	free(text);

	text = calloc(1, ISO_JSON_SIZE_MAX + 2);
	memset(text, ' ', ISO_JSON_SIZE_MAX + 1);
	text[0] = '1';
	assert_int_equal(iso_json_parse("it", text, ISO_JSON_SIZE_MAX, &root, &err), 0);
	cJSON_Delete(root);
	assert_int_equal(iso_json_parse("it", text, ISO_JSON_SIZE_MAX + 1, &root, &err), -1);
	assert_string_equal(err.message, "read it: $: it is larger than 1 MiB (line 1)");
	for (size_t i = 0; i < ISO_JSON_SIZE_MAX; i++)
		text[i] = i % 2 == 0 ? '0' : ',';
	text[0] = '[';
	text[1] = '0';
	assert_int_equal(iso_json_parse("it", text, ISO_JSON_SIZE_MAX, &root, &err), -1);
	free(text);
}

static void test_values_are_read_by_type(void **state)
{
	(void)state;
	static const char *const known[] = {"whole", "big",  "seconds", "list",
					    "text",  "flag", NULL};
	const char *text = "{\"whole\":12,\"big\":18446744073709551615,\"seconds\":1.5,"
			   "\"list\":[\"a\",1e999],\"text\":\"\\u00e9\",\"flag\":true}";
	struct iso_error err = {0};
	cJSON *root = NULL;
	assert_int_equal(iso_json_parse("it", text, strlen(text), &root, &err), 0);
	struct iso_json_at top = iso_json_root("it", root);
	assert_int_equal(iso_json_object(&top, known, &err), 0);
	assert_int_equal(iso_json_object(&top, known + 1, &err), -1);
	assert_string_equal(err.message, "read it: $.whole: nothing of this name is known");

	uint64_t value = 0;
	struct iso_json_at at = iso_json_member(&top, "whole");
	assert_int_equal(iso_json_whole(&at, 1, 12, &value, &err), 0);
	assert_int_equal(value, 12);
	assert_int_equal(iso_json_whole(&at, 1, 11, &value, &err), -1);
	assert_string_equal(err.message, "read it: $.whole: a whole number from 1 to 11 is needed");
	at = iso_json_member(&top, "big");
	assert_int_equal(iso_json_whole(&at, 0, UINT64_MAX, &value, &err), 0);
	assert_true(value == UINT64_MAX); /* which no double holds */
	at = iso_json_member(&top, "seconds");
	assert_int_equal(iso_json_whole(&at, 0, 9, &value, &err), -1);
	assert_int_equal(iso_json_seconds(&at, &value, &err), 0);
	assert_int_equal(value, 1500);
	at = iso_json_member(&top, "absent");
	assert_int_equal(iso_json_whole(&at, 0, 9, &value, &err), -1);

	struct iso_json_at list = iso_json_member(&top, "list");
	size_t count = 0;
	const char *string = NULL;
	assert_int_equal(iso_json_array(&list, &count, &err), 0);
	assert_int_equal(count, 2);
	at = iso_json_item(&list, 0);
	assert_int_equal(iso_json_text(&at, &string, &err), 0);
	assert_string_equal(string, "a");
	at = iso_json_item(&list, 1);
	assert_int_equal(iso_json_seconds(&at, &value, &err), -1);
	assert_string_equal(err.message,
			    "read it: $.list[1]: a positive number of seconds is needed");
	at = iso_json_member(&top, "text");
	assert_int_equal(iso_json_text(&at, &string, &err), 0);
	assert_string_equal(string, "\xc3\xa9");
	bool flag = false;
	assert_int_equal(iso_json_bool(&at, &flag, &err), -1);
	at = iso_json_member(&top, "flag");
	assert_int_equal(iso_json_bool(&at, &flag, &err), 0);
	assert_true(flag);
	cJSON_Delete(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_POL_5_what_is_json_is_read),
		cmocka_unit_test(test_POL_5_what_is_not_json_is_refused_with_its_place),
		cmocka_unit_test(test_POL_5_depth_and_size_are_bounded),
		cmocka_unit_test(test_values_are_read_by_type),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
