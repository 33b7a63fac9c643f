/* sandbox/drain and sandbox/outlet, over real pipes, sockets and files (RUN-4, T80 to T82). */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/digest.h"
#include "sandbox/watch/drain.h"

static void open_stream(struct iso_stream *stream, int outlet_fd, size_t limit)
{
	struct iso_error err = {0};
	const struct iso_stream_options options = {
		.outlet_fd = outlet_fd,
		.capture = true,
		.keep = ISO_KEEP_HEAD,
		.limit_bytes = limit,
	};
	assert_int_equal(iso_stream_open(stream, &options, &err), 0);
}

static void write_and_close(struct iso_stream *stream, const char *data, size_t size)
{
	assert_int_equal(write(stream->write_fd, data, size), size);
	close(stream->write_fd);
	stream->write_fd = -1;
}

static void test_a_stream_is_passed_hashed_and_kept(void **state)
{
	(void)state;
	int outlet[2];
	assert_int_equal(pipe(outlet), 0);
	struct iso_stream stream;
	open_stream(&stream, outlet[1], 4);
	assert_int_equal(stream.outlet.kind, ISO_OUTLET_REOPENED);
	write_and_close(&stream, "hello", 5);
	while (!iso_stream_ended(&stream))
		iso_stream_pump(&stream);
	char got[16];
	assert_int_equal(read(outlet[0], got, sizeof(got)), 5);
	assert_memory_equal(got, "hello", 5);
	char hex[ISO_SHA256_HEX_SIZE], expected[ISO_SHA256_HEX_SIZE];
	iso_sha256_hex("hello", 5, expected);
	iso_sha256_finish(&stream.sha256, hex);
	assert_string_equal(hex, expected);
	size_t size;
	assert_memory_equal(iso_retain_finish(&stream.retain, &size), "hell", 4);
	assert_int_equal(size, 4);
	iso_stream_done(&stream);
	close(outlet[0]);
	close(outlet[1]);
}

/* Fill the outlet: reading stops, the outlet is waited for, nothing is lost when it goes on. */
static void check_back_pressure(int near, int far, enum iso_outlet_kind kind)
{
	static char block[65536];
	memset(block, 'x', sizeof(block));
	struct iso_stream stream;
	open_stream(&stream, near, 16);
	assert_int_equal(stream.outlet.kind, kind);
	fcntl(stream.write_fd, F_SETFL, O_NONBLOCK);
	uint64_t sent = 0;
	for (int round = 0; round < 200 && !iso_stream_wants_write(&stream); round++) {
		ssize_t count = write(stream.write_fd, block, sizeof(block));
		if (count > 0)
			sent += (uint64_t)count;
		iso_stream_pump(&stream);
	}
	assert_true(iso_stream_wants_write(&stream));
	assert_false(iso_stream_wants_read(&stream));
	/* The caller's descriptor is still a blocking one. */
	assert_false(fcntl(near, F_GETFL) & O_NONBLOCK);
	close(stream.write_fd);
	stream.write_fd = -1;
	fcntl(far, F_SETFL, O_NONBLOCK);
	uint64_t received = 0;
	while (received < sent) {
		static char taken[65536];
		ssize_t count = read(far, taken, sizeof(taken));
		if (count > 0)
			received += (uint64_t)count;
		iso_stream_pump(&stream);
	}
	assert_true(iso_stream_ended(&stream));
	assert_true(stream.retain.total_bytes == sent);
	assert_int_equal(stream.outlet_errno, 0);
	iso_stream_done(&stream);
}

static void test_back_pressure_through_a_pipe(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	check_back_pressure(ends[1], ends[0], ISO_OUTLET_REOPENED);
	close(ends[0]);
	close(ends[1]);
}

static void test_back_pressure_through_a_socket(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	check_back_pressure(ends[1], ends[0], ISO_OUTLET_SOCKET);
	close(ends[0]);
	close(ends[1]);
}

/* More bytes than the pipe's size: splice(2) moves whole fragments of a socket into its slots. */
static void test_the_last_call_takes_all_that_is_there(void **state)
{
	(void)state;
	static char block[32768];
	int ends[2], held = 0;
	struct iso_stream stream;
	open_stream(&stream, -1, 4);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	size_t moved = 0;
	for (int round = 0; round < 200; round++) {
		if (write(ends[0], block, sizeof(block)) < 0)
			break;
		ssize_t count = splice(ends[1], NULL, stream.write_fd, NULL, sizeof(block),
				       SPLICE_F_NONBLOCK);
		if (count <= 0)
			break;
		moved += (size_t)count;
	}
	assert_int_equal(ioctl(stream.read_fd, FIONREAD, &held), 0);
	assert_int_equal(held, moved);
	assert_true(held > fcntl(stream.read_fd, F_GETPIPE_SZ));
	int writer_fd = dup(stream.write_fd); /* somebody outside */
	iso_stream_last_call(&stream);
	while (!iso_stream_ended(&stream))
		iso_stream_pump(&stream);
	assert_true(stream.retain.total_bytes == moved);
	iso_stream_done(&stream);
	close(writer_fd);
	close(ends[0]);
	close(ends[1]);
}

static void test_a_cautious_outlet_never_blocks(void **state)
{
	(void)state;
	int ends[2];
	static char block[65536];
	assert_int_equal(pipe(ends), 0);
	struct iso_outlet outlet = {ISO_OUTLET_CAUTIOUS, ends[1], false};
	ssize_t count;
	while ((count = iso_outlet_write(&outlet, block, sizeof(block))) > 0)
		assert_true(count <= 4096);
	assert_int_equal(errno, EAGAIN);
	assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
	close(ends[0]);
	close(ends[1]);
}

static void test_a_reader_that_leaves_ends_the_pipe(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct iso_stream stream;
	open_stream(&stream, ends[1], 16);
	close(ends[0]);
	assert_int_equal(write(stream.write_fd, "x", 1), 1);
	iso_stream_pump(&stream);
	assert_int_equal(stream.outlet_errno, EPIPE);
	assert_true(iso_stream_ended(&stream));
	assert_int_equal(write(stream.write_fd, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	iso_stream_done(&stream);
	close(ends[1]);
}

static void test_an_abandoned_outlet_leaves_the_capture(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct iso_stream stream;
	open_stream(&stream, ends[1], 16);
	iso_stream_abandon_outlet(&stream, ETIMEDOUT);
	write_and_close(&stream, "kept", 4);
	while (!iso_stream_ended(&stream))
		iso_stream_pump(&stream);
	assert_true(stream.retain.total_bytes == 4);
	assert_int_equal(stream.outlet_errno, ETIMEDOUT);
	iso_stream_done(&stream);
	close(ends[0]);
	close(ends[1]);
}

static void test_a_full_disk_ends_only_the_passing_through(void **state)
{
	(void)state;
	int full = open("/dev/full", O_WRONLY);
	assert_true(full >= 0);
	struct iso_stream stream;
	open_stream(&stream, full, 16);
	write_and_close(&stream, "lost", 4);
	while (!iso_stream_ended(&stream))
		iso_stream_pump(&stream);
	assert_int_equal(stream.outlet_errno, ENOSPC);
	assert_true(stream.retain.total_bytes == 4);
	iso_stream_done(&stream);
	close(full);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* What cannot be read is an error with its cause; only a terminal may end with EIO. */
static void test_a_source_that_cannot_be_read_says_why(void **state)
{
	(void)state;
	struct iso_stream stream;
	open_stream(&stream, -1, 4);
	iso_stream_take_terminal(&stream, open("/", O_RDONLY | O_CLOEXEC));
	iso_stream_pump(&stream);
	assert_true(iso_stream_ended(&stream));
	assert_int_equal(stream.read_errno, EISDIR);
	iso_stream_done(&stream);

	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0;
	assert_true(master >= 0 && ioctl(master, TIOCSPTLCK, &unlocked) == 0);
	close(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	open_stream(&stream, -1, 4);
	iso_stream_take_terminal(&stream, master);
	iso_stream_pump(&stream);
	assert_true(iso_stream_ended(&stream));
	assert_int_equal(stream.read_errno, 0);
	iso_stream_done(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_is_passed_hashed_and_kept),
		cmocka_unit_test(test_back_pressure_through_a_pipe),
		cmocka_unit_test(test_back_pressure_through_a_socket),
		cmocka_unit_test(test_the_last_call_takes_all_that_is_there),
		cmocka_unit_test(test_a_cautious_outlet_never_blocks),
		cmocka_unit_test(test_a_reader_that_leaves_ends_the_pipe),
		cmocka_unit_test(test_an_abandoned_outlet_leaves_the_capture),
		cmocka_unit_test(test_a_full_disk_ends_only_the_passing_through),
		cmocka_unit_test(test_a_source_that_cannot_be_read_says_why),
	};
	return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
