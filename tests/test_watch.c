/* sandbox/watch/watch: many descriptors behind one, whatever they are and become. */
#include "tests/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "sandbox/watch/watch.h"

static bool is_readable(const struct iso_watch *watch)
{
	struct pollfd polled = {.fd = watch->fd, .events = POLLIN};
	return poll(&polled, 1, 0) == 1;
}

static struct iso_watch open_watch(void)
{
	struct iso_watch watch;
	struct iso_error err = {0};
	assert_int_equal(iso_watch_open(&watch, &err), 0);
	return watch;
}

static void test_a_slot_is_ready_once_per_arming(void **state)
{
	(void)state;
	struct iso_watch watch = open_watch();
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	iso_watch_want(&watch, 3, fds[0], EPOLLIN);
	iso_watch_arm(&watch, ISO_NEVER);
	assert_false(is_readable(&watch));
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_true(is_readable(&watch));
	iso_watch_collect(&watch, false);
	assert_true(iso_watch_is_ready(&watch, 3));
	assert_false(iso_watch_is_ready(&watch, 2));
	assert_false(is_readable(&watch)); /* until it is armed again */
	iso_watch_arm(&watch, ISO_NEVER);
	assert_true(is_readable(&watch));
	iso_watch_close(&watch);
	close(fds[0]);
	close(fds[1]);
}

static void test_a_deadline_makes_it_readable(void **state)
{
	(void)state;
	struct iso_watch watch = open_watch();
	iso_watch_arm(&watch, iso_clock_mono_ns() + 20000000);
	assert_false(is_readable(&watch));
	iso_watch_collect(&watch, true); /* waits for it */
	iso_watch_arm(&watch, ISO_NEVER);
	assert_false(is_readable(&watch));
	iso_watch_arm(&watch, 1); /* long ago */
	assert_true(is_readable(&watch));
	iso_watch_close(&watch);
}

static void test_what_cannot_be_polled_is_always_ready(void **state)
{
	(void)state;
	struct iso_watch watch = open_watch();
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	iso_watch_want(&watch, 0, fd, EPOLLOUT);
	iso_watch_arm(&watch, ISO_NEVER);
	assert_true(is_readable(&watch));
	iso_watch_collect(&watch, true);
	assert_true(iso_watch_is_ready(&watch, 0));
	iso_watch_want(&watch, 0, fd, 0);
	iso_watch_arm(&watch, ISO_NEVER);
	assert_false(is_readable(&watch));
	iso_watch_close(&watch);
	close(fd);
}

static void test_one_descriptor_in_two_slots(void **state)
{
	(void)state;
	struct iso_watch watch = open_watch();
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	iso_watch_want(&watch, 1, fds[0], EPOLLOUT);
	iso_watch_want(&watch, 2, fds[0], EPOLLIN);
	iso_watch_arm(&watch, ISO_NEVER);
	iso_watch_collect(&watch, false);
	assert_true(iso_watch_is_ready(&watch, 1));
	assert_false(iso_watch_is_ready(&watch, 2));
	assert_int_equal(write(fds[1], "x", 1), 1);
	iso_watch_arm(&watch, ISO_NEVER);
	iso_watch_collect(&watch, false);
	assert_true(iso_watch_is_ready(&watch, 1));
	assert_true(iso_watch_is_ready(&watch, 2));
	iso_watch_close(&watch);
	close(fds[0]);
	close(fds[1]);
}

/* A number is closed and comes back as something else before its old slot hears of that: the new
 * slot must not lose it. */
static void test_a_number_that_comes_back(void **state)
{
	(void)state;
	struct iso_watch watch = open_watch();
	int old[2], fresh[2];
	assert_int_equal(pipe(old), 0);
	iso_watch_want(&watch, 5, old[0], EPOLLIN);
	iso_watch_arm(&watch, ISO_NEVER);
	close(old[1]);
	iso_watch_collect(&watch, false);
	assert_true(iso_watch_is_ready(&watch, 5));
	int number = old[0];
	assert_int_equal(pipe(fresh), 0);
	assert_int_equal(dup2(fresh[0], number), number); /* closes the old one */
	assert_int_equal(write(fresh[1], "x", 1), 1);
	iso_watch_want(&watch, 4, number, EPOLLIN); /* a slot before the old one's */
	iso_watch_want(&watch, 5, -1, 0);
	iso_watch_arm(&watch, ISO_NEVER);
	assert_true(is_readable(&watch));
	iso_watch_collect(&watch, false);
	assert_true(iso_watch_is_ready(&watch, 4));
	iso_watch_close(&watch);
	close(number);
	close(fresh[0]);
	close(fresh[1]);
}

/* A copy in another process keeps a closed pipe's end open; its events must not go on coming. */
static void test_a_closed_descriptor_with_a_copy_elsewhere_is_silent(void **state)
{
	(void)state;
	struct iso_watch watch = open_watch();
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	int copy = dup(fds[0]);
	iso_watch_want(&watch, 0, fds[0], EPOLLIN);
	iso_watch_arm(&watch, ISO_NEVER);
	close(fds[1]);
	iso_watch_collect(&watch, false);
	assert_true(iso_watch_is_ready(&watch, 0));
	close(fds[0]);
	iso_watch_want(&watch, 0, -1, 0);
	iso_watch_arm(&watch, ISO_NEVER);
	assert_false(is_readable(&watch));
	close(copy);
	iso_watch_close(&watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_slot_is_ready_once_per_arming),
		cmocka_unit_test(test_a_deadline_makes_it_readable),
		cmocka_unit_test(test_what_cannot_be_polled_is_always_ready),
		cmocka_unit_test(test_one_descriptor_in_two_slots),
		cmocka_unit_test(test_a_number_that_comes_back),
		cmocka_unit_test(test_a_closed_descriptor_with_a_copy_elsewhere_is_silent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
