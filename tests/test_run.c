/*
 * runner/engine/run, driven by hand: each step taken when the descriptor says so. These start real
 * sandboxes; where this user cannot have them, they are skipped.
 */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/isorun.h"

static char workspace[] = "/tmp/isorun-run.XXXXXX";
static iso_station *station;

static iso_run *start(const char *script, struct iso_request *request)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct iso_error err = {0};
	iso_run *run = NULL;
	request->argv = argv;
	request->workspace = workspace;
	request->cgroup_optional = true;
	if (iso_run_start(station, request, &run, &err) < 0)
		fail_msg("%s", err.message);
	return run;
}

/* Step until it has ended; how many steps that took. */
static int drive(iso_run *run)
{
	int steps = 0;
	struct pollfd polled = {.fd = iso_run_poll_fd(run), .events = POLLIN};
	do {
		assert_int_equal(poll(&polled, 1, 60000), 1);
		steps++;
	} while (iso_run_step(run));
	assert_int_equal(poll(&polled, 1, 0), 1); /* and says so, at once */
	return steps;
}

static iso_result *result_of(iso_run *run)
{
	struct iso_error err = {0};
	iso_result *result = NULL;
	if (iso_run_take_result(run, &result, &err) < 0)
		fail_msg("%s", err.message);
	return result;
}

static void finish(iso_run *run, enum iso_status status, int code)
{
	iso_result *result = result_of(run);
	if (iso_result_status(result) != status || iso_result_exit_code(result) != code)
		fail_msg("%s, %d: %s", iso_status_name(iso_result_status(result)),
			 iso_result_exit_code(result),
			 iso_result_error(result) != NULL ? iso_result_error(result)->message : "");
	iso_result_free(result);
	iso_run_free(run);
}

static void test_steps_to_an_exit_code(void **state)
{
	(void)state;
	struct iso_request request;
	iso_request_init(&request);
	iso_run *run = start("exit 7", &request);
	assert_in_range(drive(run), 1, 100);
	assert_false(iso_run_step(run)); /* once more does no harm */
	finish(run, ISO_STATUS_FAILED, 7);
}

static void test_stepping_too_often_does_no_harm(void **state)
{
	(void)state;
	struct iso_request request;
	iso_request_init(&request);
	iso_run *run = start("exit 3", &request);
	while (iso_run_step(run))
		;
	finish(run, ISO_STATUS_FAILED, 3);
}

static void test_nobody_looks_and_nothing_is_lost(void **state)
{
	(void)state;
	int pipe_fds[2];
	char said[16] = "";
	struct iso_request request;
	iso_request_init(&request);
	assert_int_equal(pipe(pipe_fds), 0);
	request.stdout_fd = pipe_fds[1];
	iso_run *run = start("echo early", &request);
	usleep(300000); /* it has ended by now, and nobody has looked */
	drive(run);
	finish(run, ISO_STATUS_COMPLETED, 0);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], said, sizeof(said) - 1), 6);
	assert_string_equal(said, "early\n");
	close(pipe_fds[0]);
}

static void test_a_wall_limit_makes_the_descriptor_readable(void **state)
{
	(void)state;
	struct iso_request request;
	iso_request_init(&request);
	request.wall_limit_ms = 200;
	request.grace_ms = 0;
	iso_run *run = start("sleep 60", &request);
	drive(run);
	finish(run, ISO_STATUS_TIMED_OUT, 124);
}

/* Step until the first byte of its output is there, and take that. */
static void step_until_it_speaks(iso_run *run, int fd)
{
	char byte;
	struct pollfd polled[] = {{.fd = iso_run_poll_fd(run), .events = POLLIN},
				  {.fd = fd, .events = POLLIN}};
	while (polled[1].revents == 0) {
		assert_true(iso_run_step(run));
		assert_true(poll(polled, 2, 60000) > 0);
	}
	assert_int_equal(read(fd, &byte, 1), 1);
}

/* A payload that ignores INT and TERM and has said so. */
static iso_run *start_deaf(struct iso_request *request)
{
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	request->grace_ms = 60000;
	request->stdout_fd = pipe_fds[1];
	iso_run *run = start("trap '' INT TERM; echo x; sleep 60 & wait; sleep 60", request);
	step_until_it_speaks(run, pipe_fds[0]);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return run;
}

static void test_a_cancel_is_a_signal_and_a_second_one_a_kill(void **state)
{
	(void)state;
	struct iso_request request;
	iso_request_init(&request);
	iso_run *run = start_deaf(&request);
	iso_run_cancel(run, SIGINT);
	for (int i = 0; i < 20; i++) { /* it ignores that */
		assert_true(iso_run_step(run));
		usleep(5000);
	}
	iso_run_cancel(run, SIGINT);
	drive(run);
	finish(run, ISO_STATUS_CANCELLED, 128 + SIGINT);
}

/* All that came by the time of a look counts: here a size, a signal, and the same once more. */
static void test_cancels_that_come_together_count_each(void **state)
{
	(void)state;
	const uint32_t signals[] = {SIGWINCH, SIGTERM, SIGTERM};
	struct iso_request request;
	int pipe_fds[2];
	iso_request_init(&request);
	assert_int_equal(pipe(pipe_fds), 0);
	request.cancel_fd = pipe_fds[0];
	iso_run *run = start_deaf(&request);
	assert_int_equal(write(pipe_fds[1], signals, sizeof(signals)), sizeof(signals));
	drive(run);
	finish(run, ISO_STATUS_CANCELLED, 128 + SIGTERM);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void test_signals_that_come_together_count_each(void **state)
{
	(void)state;
	struct iso_request request;
	sigset_t signals, saved;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &signals, &saved), 0);
	iso_request_init(&request);
	request.cancel_fd = signalfd(-1, &signals, 0);
	iso_run *run = start_deaf(&request);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGINT);
	drive(run);
	finish(run, ISO_STATUS_CANCELLED, 128 + SIGINT); /* the lower number comes first */
	close(request.cancel_fd);
	sigprocmask(SIG_SETMASK, &saved, NULL);
}

static void test_a_cancel_without_a_number_is_a_cancel(void **state)
{
	(void)state;
	struct iso_request request;
	iso_request_init(&request);
	iso_run *run = start("sleep 60", &request);
	iso_run_cancel(run, 0);
	drive(run);
	finish(run, ISO_STATUS_CANCELLED, 128 + SIGTERM);
}

/* A living child of `parent`, found by looking at all processes. */
static pid_t child_of(pid_t parent)
{
	DIR *processes = opendir("/proc");
	pid_t found = 0;
	assert_non_null(processes);
	for (struct dirent *entry; found == 0 && (entry = readdir(processes)) != NULL;) {
		char path[300], text[512] = "";
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		FILE *file = entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (file == NULL)
			continue;
		char *rest = fgets(text, sizeof(text), file) != NULL ? strrchr(text, ')') : NULL;
		if (rest != NULL && rest[2] != 'Z' && strtol(rest + 4, NULL, 10) == parent)
			found = (pid_t)strtol(text, NULL, 10); /* "PID (NAME) STATE PPID …" */
		(void)fclose(file);
	}
	closedir(processes);
	assert_true(found > 0);
	return found;
}

/* Somebody outside has got hold of the payload's end of its pipe, and keeps it. */
static void test_who_else_holds_a_pipe_is_not_waited_for(void **state)
{
	(void)state;
	struct iso_request request;
	char path[64];
	iso_request_init(&request);
	iso_run *run = start_deaf(&request);
	snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)child_of(child_of(getpid())));
	int held_fd = open(path, O_WRONLY);
	assert_true(held_fd >= 0);
	iso_run_cancel(run, SIGTERM);
	iso_run_cancel(run, SIGTERM);
	drive(run);
	finish(run, ISO_STATUS_CANCELLED, 128 + SIGTERM);
	close(held_fd);
}

/* A run whose processes have gone, whose reader has yet to take output, and whose pipe somebody
 * else holds as well. */
static iso_run *start_slow(struct iso_request *request, int *ret_held_fd, int outlet[2])
{
	int input[2];
	char path[64], byte;
	assert_int_equal(pipe(outlet), 0);
	assert_int_equal(pipe(input), 0);
	fcntl(outlet[1], F_SETPIPE_SZ, 4096);
	request->stdout_fd = outlet[1];
	request->stdin_fd = input[0];
	iso_run *run = start("echo x; read line; printf %100000d 1", request);
	step_until_it_speaks(run, outlet[0]);
	pid_t init = child_of(getpid());
	snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)child_of(init));
	*ret_held_fd = open(path, O_WRONLY);
	assert_true(*ret_held_fd >= 0);
	assert_int_equal(write(input[1], "\n", 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)init);
	for (int tries = 0; tries < 6000 && readlink(path, &byte, 1) >= 0; tries++) {
		assert_true(iso_run_step(run));
		usleep(10000);
	}
	for (int i = 0; i < 5; i++) /* and that is known */
		assert_true(iso_run_step(run));
	close(input[0]);
	close(input[1]);
	return run;
}

static void test_nor_is_it_when_the_run_is_freed_or_cancelled(void **state)
{
	(void)state;
	int held_fd, outlet[2];
	for (int freed = 0; freed < 2; freed++) {
		struct iso_request request;
		iso_request_init(&request);
		iso_run *run = start_slow(&request, &held_fd, outlet);
		if (freed == 0) {
			iso_run_cancel(run, SIGTERM);
			drive(run);
		}
		iso_run_free(run);
		close(held_fd);
		close(outlet[0]);
		close(outlet[1]);
	}
}

/* What epoll does not take twice. */
static void test_one_socket_for_both_streams(void **state)
{
	(void)state;
	int ends[2];
	static char said[65536];
	struct iso_request request;
	iso_request_init(&request);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	request.stdout_fd = request.stderr_fd = ends[1];
	/* More than it takes, so that both wait for room in it. */
	iso_run *run =
		start("head -c 3000000 /dev/zero & head -c 3000000 /dev/zero >&2; wait", &request);
	size_t received = 0;
	struct pollfd polled[] = {{.fd = iso_run_poll_fd(run), .events = POLLIN},
				  {.fd = ends[0], .events = POLLIN}};
	for (bool lives = true; lives || polled[1].revents != 0;) {
		assert_true(poll(polled, 2, lives ? 60000 : 0) >= 0);
		if (polled[1].revents != 0)
			received += (size_t)read(ends[0], said, sizeof(said));
		if (lives && polled[0].revents != 0)
			lives = iso_run_step(run);
	}
	assert_int_equal(received, 6000000);
	finish(run, ISO_STATUS_COMPLETED, 0);
	close(ends[0]);
	close(ends[1]);
}

/* What epoll does not take at all. */
static void test_a_file_as_outlet(void **state)
{
	(void)state;
	FILE *file = tmpfile();
	struct iso_request request;
	iso_request_init(&request);
	assert_non_null(file);
	request.stdout_fd = fileno(file);
	request.stderr_fd = fileno(file);
	iso_run *run = start("head -c 300000 /dev/zero; echo end >&2", &request);
	drive(run);
	finish(run, ISO_STATUS_COMPLETED, 0);
	fseek(file, 0, SEEK_END);
	assert_int_equal(ftell(file), 300000 + 4);
	(void)fclose(file);
}

static void test_a_result_is_taken_once_and_at_the_end(void **state)
{
	(void)state;
	struct iso_request request;
	struct iso_error err = {0};
	iso_result *result = NULL;
	iso_request_init(&request);
	iso_run *run = start("true", &request);
	assert_int_equal(iso_run_take_result(run, &result, &err), -1);
	assert_int_equal(err.code, ISO_ERR_INVALID);
	drive(run);
	iso_result_free(result_of(run));
	assert_int_equal(iso_run_take_result(run, &result, &err), -1);
	assert_int_equal(err.code, ISO_ERR_INVALID);
	iso_run_free(run);
}

static void test_progress(void **state)
{
	(void)state;
	struct iso_request request;
	struct iso_progress progress = {.elapsed_ms = 77};
	iso_request_init(&request);
	iso_run *run = start("sleep 60", &request);
	usleep(20000);
	iso_run_progress(run, &progress);
	assert_in_range(progress.elapsed_ms, 1, 60000);
	iso_run_free(run); /* and a run that goes on can be given up */
}

static int open_station(void **state)
{
	struct iso_request request;
	struct iso_error err = {0};
	(void)state;
	if (mkdtemp(workspace) == NULL || iso_station_new(&station, &err) < 0)
		return -1;
	iso_request_init(&request);
	iso_run *run = start("true", &request);
	drive(run);
	iso_result *result = result_of(run);
	bool works = iso_result_status(result) == ISO_STATUS_COMPLETED;
	if (!works)
		printf("skipped: %s\n", iso_result_error(result)->message);
	iso_result_free(result);
	iso_run_free(run);
	const char *must = getenv("ISORUN_MUST_WORK");
	if (!works && (must == NULL || strcmp(must, "1") != 0))
		exit(0);
	return works ? 0 : -1;
}

static int close_station(void **state)
{
	(void)state;
	iso_station_free(station);
	return rmdir(workspace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_to_an_exit_code),
		cmocka_unit_test(test_stepping_too_often_does_no_harm),
		cmocka_unit_test(test_nobody_looks_and_nothing_is_lost),
		cmocka_unit_test(test_a_wall_limit_makes_the_descriptor_readable),
		cmocka_unit_test(test_a_cancel_is_a_signal_and_a_second_one_a_kill),
		cmocka_unit_test(test_cancels_that_come_together_count_each),
		cmocka_unit_test(test_signals_that_come_together_count_each),
		cmocka_unit_test(test_a_cancel_without_a_number_is_a_cancel),
		cmocka_unit_test(test_who_else_holds_a_pipe_is_not_waited_for),
		cmocka_unit_test(test_nor_is_it_when_the_run_is_freed_or_cancelled),
		cmocka_unit_test(test_one_socket_for_both_streams),
		cmocka_unit_test(test_a_file_as_outlet),
		cmocka_unit_test(test_a_result_is_taken_once_and_at_the_end),
		cmocka_unit_test(test_progress),
	};
	return cmocka_run_group_tests(tests, open_station, close_station);
}
