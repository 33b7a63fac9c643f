/* runner/base/parse: strict numbers, sizes, durations (T66, T67, POL-4). */
#include "tests/test.h"

#include "runner/base/text/parse.h"

struct row {
	const char *text;
	bool valid;
	uint64_t value;
};

static void check_rows(const struct row *rows, size_t count,
		       int (*parse)(const char *text, uint64_t *ret_value))
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 77; /* untouched on failure */
		int result = parse(rows[i].text, &value);
		if ((result == 0) != rows[i].valid || value != (rows[i].valid ? rows[i].value : 77))
			fail_msg("\"%s\": result %d, value %llu", rows[i].text, result,
				 (unsigned long long)value);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"1", true, 1},
		{"512", true, 512},
		{"2K", true, 2048},
		{"2k", true, 2048},
		{"64M", true, 64 << 20},
		{"3G", true, UINT64_C(3) << 30},
		{"9223372036854775807", true, INT64_MAX},
		{"0", false, 0},
		{"", false, 0},
		{"K", false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1 ", false, 0},
		{"512 M", false, 0},
		{"1.5G", false, 0},
		{"1e3", false, 0},
		{"1KB", false, 0},
		{"1T", false, 0},
		{"nan", false, 0},
		{"infinity", false, 0},
		{"9223372036854775808", false, 0},
		{"18446744073709551616", false, 0},
		{"18446744073709551615G", false, 0},
		{"17179869184G", false, 0},
	};
	check_rows(rows, ARRAY_SIZE(rows), iso_parse_size);
}

static void test_durations(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"1", true, 1000},
		{"1s", true, 1000},
		{"1.5s", true, 1500},
		{"0.001", true, 1},
		{"250ms", true, 250},
		{"2m", true, 120000},
		{"1h", true, 3600000},
		{"0.5h", true, 1800000},
		{"0", false, 0},
		{"0ms", false, 0},
		{"0.0001s", false, 0},
		{"0.5ms", false, 0},
		{"-1", false, 0},
		{"1d", false, 0},
		{"1 s", false, 0},
		{".5s", false, 0},
		{"5.s", false, 0},
		{"inf", false, 0},
		{"nan", false, 0},
		{"1e999", false, 0},
		{"9223372036854775807", false, 0},
		{"18446744073709551616h", false, 0},
	};
	check_rows(rows, ARRAY_SIZE(rows), iso_parse_duration);
}

static void test_cpus(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"1", true, 1000},	 {"0.5", true, 500}, {"0.001", true, 1},
		{"1024", true, 1024000}, {"0", false, 0},    {"0.0001", false, 0},
		{"1025", false, 0},	 {"2x", false, 0},   {"", false, 0},
		{"-1", false, 0},
	};
	check_rows(rows, ARRAY_SIZE(rows), iso_parse_cpus);
}

static void test_ranges(void **state)
{
	(void)state;
	uint64_t value = 5;
	assert_int_equal(iso_parse_u64_range("10", 1, 10, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(iso_parse_u64_range("11", 1, 10, &value), -1);
	assert_int_equal(iso_parse_u64_range("0", 1, 10, &value), -1);
	assert_int_equal(iso_parse_u64("18446744073709551615", &value), 0);
	assert_true(value == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
