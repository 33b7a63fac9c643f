/* runner/base/retain: bounded memory, exact counts, whole characters (RUN-4, RUN-5, T84, T85). */
#include "tests/test.h"

#include "runner/base/retain.h"

/* Feed `text` in chunks of every size from 1, and compare with the expected rest each time. */
static void check(enum iso_keep keep, size_t limit, const char *text, const char *expected)
{
	size_t length = strlen(text);
	for (size_t chunk = 1; chunk <= length + 1; chunk++) {
		struct iso_retain retain;
		iso_retain_init(&retain, keep, limit);
		for (size_t done = 0; done < length; done += chunk) {
			size_t size = chunk < length - done ? chunk : length - done;
			assert_int_equal(iso_retain_add(&retain, text + done, size), 0);
			assert_true(retain.length <= limit);
			assert_true(retain.capacity <= limit);
		}
		size_t size;
		const uint8_t *data = iso_retain_finish(&retain, &size);
		if (size != strlen(expected) || memcmp(data, expected, size) != 0)
			fail_msg("\"%s\" limit %zu chunk %zu: \"%.*s\"", text, limit, chunk,
				 (int)size, (const char *)data);
		assert_true(retain.total_bytes == length);
		assert_true(iso_retain_truncated(&retain) == (length > limit));
		iso_retain_done(&retain);
	}
}

static void test_head_keeps_the_first_bytes(void **state)
{
	(void)state;
	check(ISO_KEEP_HEAD, 5, "0123456789", "01234");
	check(ISO_KEEP_HEAD, 10, "0123456789", "0123456789");
	check(ISO_KEEP_HEAD, 11, "0123456789", "0123456789");
	check(ISO_KEEP_HEAD, 1, "01", "0");
}

static void test_tail_keeps_the_last_bytes(void **state)
{
	(void)state;
	check(ISO_KEEP_TAIL, 5, "0123456789", "56789");
	check(ISO_KEEP_TAIL, 3, "0123456789abcdef", "def");
	check(ISO_KEEP_TAIL, 10, "0123456789", "0123456789");
	check(ISO_KEEP_TAIL, 1, "01", "1");
}

static void test_cuts_fall_between_characters(void **state)
{
	(void)state;
	check(ISO_KEEP_HEAD, 2, "a\xe2\x82\xac", "a");
	check(ISO_KEEP_HEAD, 3, "a\xe2\x82\xac", "a");
	check(ISO_KEEP_HEAD, 4,
	      "a\xe2\x82\xac"
	      "b",
	      "a\xe2\x82\xac");
	check(ISO_KEEP_TAIL, 3,
	      "\xe2\x82\xac"
	      "b",
	      "b");
	check(ISO_KEEP_TAIL, 4,
	      "a\xe2\x82\xac"
	      "b",
	      "\xe2\x82\xac"
	      "b");
}

static void test_a_limit_of_zero_only_counts(void **state)
{
	(void)state;
	struct iso_retain retain;
	size_t size = 9;
	iso_retain_init(&retain, ISO_KEEP_TAIL, 0);
	assert_int_equal(iso_retain_add(&retain, "abc", 3), 0);
	assert_true(retain.total_bytes == 3);
	assert_non_null(iso_retain_finish(&retain, &size));
	assert_int_equal(size, 0);
	assert_null(retain.data);
	iso_retain_done(&retain);
}

static void test_memory_grows_with_the_stream_not_with_the_limit(void **state)
{
	(void)state;
	struct iso_retain retain;
	iso_retain_init(&retain, ISO_KEEP_HEAD, (size_t)1 << 40);
	assert_int_equal(iso_retain_add(&retain, "abc", 3), 0);
	assert_true(retain.capacity <= 4096);
	iso_retain_done(&retain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_keeps_the_first_bytes),
		cmocka_unit_test(test_tail_keeps_the_last_bytes),
		cmocka_unit_test(test_cuts_fall_between_characters),
		cmocka_unit_test(test_a_limit_of_zero_only_counts),
		cmocka_unit_test(test_memory_grows_with_the_stream_not_with_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
