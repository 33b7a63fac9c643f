/* One scanner of decimal numbers in thousandths serves durations and CPU counts. */
#include "runner/base/text/parse.h"

#include <stddef.h>
#include <string.h>

#define MILLIS_MAX ((uint64_t)(INT64_MAX / 1000000))

struct suffix {
	const char *text;
	uint64_t factor;
};

/* Digits at *cursor, advanced past them; -1 when there is none or the number overflows. */
static int scan_digits(const char **cursor, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *start = *cursor;
	for (; **cursor >= '0' && **cursor <= '9'; (*cursor)++) {
		uint64_t digit = (uint64_t)(**cursor - '0');
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return -1;
	}
	if (*cursor == start)
		return -1;
	*ret_value = value;
	return 0;
}

/* "12", "12.5" or "0.125" in thousandths; more than three decimals are refused, not rounded. */
static int scan_thousandths(const char **cursor, uint64_t *ret_value)
{
	uint64_t whole;
	if (scan_digits(cursor, &whole) < 0 || __builtin_mul_overflow(whole, 1000, &whole))
		return -1;
	if (**cursor == '.') {
		(*cursor)++;
		uint64_t weight = 100;
		const char *start = *cursor;
		for (; **cursor >= '0' && **cursor <= '9'; (*cursor)++, weight /= 10) {
			if (weight == 0)
				return -1;
			if (__builtin_add_overflow(whole, (uint64_t)(**cursor - '0') * weight,
						   &whole))
				return -1;
		}
		if (*cursor == start)
			return -1;
	}
	*ret_value = whole;
	return 0;
}

static int find_suffix(const char *text, const struct suffix *table, uint64_t *ret_factor)
{
	for (; table->text != NULL; table++) {
		if (strcmp(text, table->text) == 0) {
			*ret_factor = table->factor;
			return 0;
		}
	}
	return -1;
}

int iso_parse_u64(const char *text, uint64_t *ret_value)
{
	uint64_t value;
	if (scan_digits(&text, &value) < 0 || *text != '\0')
		return -1;
	*ret_value = value;
	return 0;
}

int iso_parse_u64_range(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *ret_value)
{
	uint64_t value;
	if (iso_parse_u64(text, &value) < 0 || value < minimum || value > maximum)
		return -1;
	*ret_value = value;
	return 0;
}

int iso_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct suffix suffixes[] = {
		{"", 1},	{"K", 1 << 10}, {"k", 1 << 10}, {"M", 1 << 20},
		{"m", 1 << 20}, {"G", 1 << 30}, {"g", 1 << 30}, {NULL, 0},
	};
	uint64_t value, factor;
	if (scan_digits(&text, &value) < 0 || find_suffix(text, suffixes, &factor) < 0 ||
	    __builtin_mul_overflow(value, factor, &value) || value == 0 || value > INT64_MAX)
		return -1;
	*ret_bytes = value;
	return 0;
}

int iso_parse_duration(const char *text, uint64_t *ret_ms)
{
	/* Factors from thousandths of the unit to thousandths of a millisecond. */
	static const struct suffix suffixes[] = {
		{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0},
	};
	uint64_t value, factor;
	if (scan_thousandths(&text, &value) < 0 || find_suffix(text, suffixes, &factor) < 0 ||
	    __builtin_mul_overflow(value, factor, &value) || value % 1000 != 0)
		return -1;
	value /= 1000;
	if (value == 0 || value > MILLIS_MAX)
		return -1;
	*ret_ms = value;
	return 0;
}

int iso_parse_cpus(const char *text, uint64_t *ret_millicpu)
{
	uint64_t value;
	if (scan_thousandths(&text, &value) < 0 || *text != '\0' || value < 1 || value > 1024000)
		return -1;
	*ret_millicpu = value;
	return 0;
}
