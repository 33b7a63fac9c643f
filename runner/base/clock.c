/* Deadlines are absolute nanoseconds on CLOCK_MONOTONIC, so that EINTR never extends a wait. */
#include "runner/base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)

int64_t iso_clock_mono_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t iso_clock_unix_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

int64_t iso_deadline_after(int64_t now_ns, uint64_t after_ms)
{
	if (after_ms > (uint64_t)((INT64_MAX - now_ns) / NS_PER_MS))
		return ISO_NEVER;
	return now_ns + (int64_t)after_ms * NS_PER_MS;
}

int64_t iso_deadline_min(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

int iso_deadline_poll_ms(int64_t deadline_ns, int64_t now_ns)
{
	if (deadline_ns == ISO_NEVER)
		return -1;
	if (deadline_ns <= now_ns)
		return 0;
	int64_t left_ms = (deadline_ns - now_ns - 1) / NS_PER_MS + 1;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

void iso_clock_format_unix_ms(int64_t unix_ms, char ret_text[ISO_TIMESTAMP_SIZE])
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm utc;
	gmtime_r(&seconds, &utc);
	char date[ISO_TIMESTAMP_SIZE - 8];
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(ret_text, ISO_TIMESTAMP_SIZE, "%s.%03dZ", date, (int)(unix_ms % 1000));
}
