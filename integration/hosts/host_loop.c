/*
 * A host program with one thread and one loop: 64 runs at a time on one station, some of which it
 * cancels. Speaks TAP.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/isorun.h"

#define RUNS 64

static int count, failures;

static void check(bool good, const char *name)
{
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int number = 0;
	while (dir != NULL && readdir(dir) != NULL)
		number++;
	closedir(dir);
	return number;
}

/* What the runs are, in turn. */
enum kind { EXITS, CANCELLED, TIMED_OUT, SPEAKS, KINDS };

static iso_run *start(iso_station *station, int number)
{
	static const char *const scripts[KINDS] = {
		"exit $0",
		"trap 'exit 9' TERM; sleep 60 & wait",
		"sleep 60",
		"echo speaks $0",
	};
	char word[16];
	enum kind kind = (enum kind)(number % KINDS);
	const char *argv[] = {"sh", "-c", scripts[kind], word, NULL};
	struct iso_request request;
	struct iso_error err = {0};
	iso_run *run = NULL;
	snprintf(word, sizeof(word), "%d", number);
	iso_request_init(&request);
	request.argv = argv;
	request.capture = true;
	request.wall_limit_ms = kind == TIMED_OUT ? 500 : 60000;
	request.grace_ms = kind == TIMED_OUT ? 0 : 20000;
	if (iso_run_start(station, &request, &run, &err) < 0)
		printf("# %s\n", err.message);
	return run;
}

static bool is_as_expected(int number, const iso_result *result)
{
	static const enum iso_status statuses[KINDS] = {ISO_STATUS_FAILED, ISO_STATUS_CANCELLED,
							ISO_STATUS_TIMED_OUT, ISO_STATUS_COMPLETED};
	static const int codes[KINDS] = {-1, 143, 124, 0};
	enum kind kind = (enum kind)(number % KINDS);
	enum iso_status status = iso_result_status(result);
	int code = iso_result_exit_code(result);
	char said[64];
	char *receipt = NULL;
	if (number == 0 && kind == EXITS)
		return status == ISO_STATUS_COMPLETED && code == 0;
	bool good = status == statuses[kind] && code == (kind == EXITS ? number : codes[kind]);
	snprintf(said, sizeof(said), "\"text\":\"speaks %d\\n\"", number);
	if (kind == SPEAKS)
		good &= iso_result_receipt(result, &receipt, NULL) == 0 &&
			strstr(receipt, said) != NULL;
	if (!good)
		printf("# run %d: %s, %d: %s\n", number, iso_status_name(status), code,
		       iso_result_error(result) != NULL ? iso_result_error(result)->message : "");
	free(receipt);
	return good;
}

/* The result of a run that has ended, judged and released. */
static bool finish(iso_run *run, int number)
{
	struct iso_error err = {0};
	iso_result *result = NULL;
	bool good = iso_run_take_result(run, &result, &err) == 0 && is_as_expected(number, result);
	iso_result_free(result);
	good &= iso_run_take_result(run, &result, &err) < 0 && err.code == ISO_ERR_INVALID;
	iso_run_free(run);
	return good;
}

/* Cancel those that wait for it, once they have something to lose. */
static void cancel_ready(iso_run *const runs[RUNS], bool cancelled[RUNS])
{
	for (int i = 0; i < RUNS; i++) {
		struct iso_progress progress;
		if (runs[i] == NULL || i % KINDS != CANCELLED || cancelled[i])
			continue;
		iso_run_progress(runs[i], &progress);
		if (progress.process_count != UINT64_MAX && progress.process_count >= 2) {
			iso_run_cancel(runs[i], SIGTERM);
			cancelled[i] = true;
		}
	}
}

static void loop(int epoll_fd, iso_run *runs[RUNS])
{
	int going = RUNS, good = 0, most_threads = 0;
	bool cancelled[RUNS] = {false};
	while (going > 0) {
		struct epoll_event events[16];
		int ready = epoll_wait(epoll_fd, events, 16, 20);
		int threads = entries("/proc/self/task") - 2;
		most_threads = threads > most_threads ? threads : most_threads;
		cancel_ready(runs, cancelled);
		for (int i = 0; i < ready; i++) {
			uint32_t number = events[i].data.u32;
			if (iso_run_step(runs[number]))
				continue;
			good += finish(runs[number], (int)number);
			runs[number] = NULL;
			going--;
		}
	}
	check(good == RUNS, "64 runs in one loop: each ends as it should");
	check(most_threads == 1, "with one thread");
}

static void hold_many(iso_station *station)
{
	static iso_run *runs[RUNS];
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC), started = 0;
	for (int i = 0; i < RUNS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
		runs[i] = start(station, i);
		started += runs[i] != NULL && epoll_ctl(epoll_fd, EPOLL_CTL_ADD,
							iso_run_poll_fd(runs[i]), &event) == 0;
	}
	check(started == RUNS, "64 runs start at once");
	if (started == RUNS)
		loop(epoll_fd, runs);
	close(epoll_fd);
}

static bool is_readable(const iso_run *run)
{
	struct pollfd polled = {.fd = iso_run_poll_fd(run), .events = POLLIN};
	return poll(&polled, 1, 0) == 1;
}

/* A request that is refused is a run that has ended. */
static void refuse(iso_station *station)
{
	struct iso_request request;
	struct iso_error err = {0};
	iso_run *run = NULL;
	iso_result *result = NULL;
	iso_request_init(&request);
	check(iso_run_start(station, &request, &run, &err) == 0 && is_readable(run) &&
		      !iso_run_step(run) && iso_run_take_result(run, &result, &err) == 0 &&
		      iso_result_status(result) == ISO_STATUS_INVALID &&
		      iso_result_class(result) == ISO_CLASS_INVALID,
	      "a refused request is a run that has ended, and its descriptor says so");
	iso_result_free(result);
	iso_run_free(run);
}

/* Programs that were compiled with another header. */
static void come_from_elsewhere(iso_station *station)
{
	struct {
		struct iso_request request;
		uint64_t later;
	} newer;
	const char *argv[] = {"true", NULL};
	struct iso_error err = {0};
	char *json = NULL;
	iso_request_init(&newer.request);
	newer.request.argv = argv;
	newer.request.struct_size = sizeof(newer);
	newer.later = 0;
	check(iso_station_plan(station, &newer.request, &json, &err) == 0,
	      "a newer program that does not use what is new");
	free(json);
	json = NULL;
	newer.later = 1;
	check(iso_station_plan(station, &newer.request, &json, &err) < 0 &&
		      err.code == ISO_ERR_INVALID && strstr(err.message, "older") != NULL,
	      "a newer program that uses it is refused");
	iso_request_init(&newer.request);
	newer.request.argv = argv;
	newer.request.struct_size = offsetof(struct iso_request, merge_streams);
	newer.request.merge_streams = true; /* beyond what it has */
	check(iso_station_plan(station, &newer.request, &json, &err) == 0 &&
		      strstr(json, "\"merge\":false") != NULL,
	      "what an older program does not have keeps its default");
	free(json);
	newer.request.struct_size = 0;
	check(iso_station_plan(station, &newer.request, &json, &err) < 0 &&
		      strstr(err.message, "not initialised") != NULL,
	      "a request that nobody initialised is refused");
}

/* A run is given up, and its station before it. */
static void give_up(iso_station *station)
{
	iso_run *run = start(station, CANCELLED);
	struct iso_error err = {0};
	iso_result *result = NULL;
	check(run != NULL && iso_run_take_result(run, &result, &err) < 0 &&
		      err.code == ISO_ERR_INVALID,
	      "no result is to be had from a run that goes on");
	iso_station_free(station);
	iso_run_free(run);
}

int main(void)
{
	struct iso_error err = {0};
	iso_station *station = NULL;
	int before = entries("/proc/self/fd");
	check(iso_station_new(&station, &err) == 0, "a station can be made");
	if (station == NULL) {
		printf("# %s\n1..%d\n", err.message, count);
		return 1;
	}
	hold_many(station);
	refuse(station);
	come_from_elsewhere(station);
	give_up(station);
	check(entries("/proc/self/fd") == before, "nothing is left open");
	siginfo_t info;
	check(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD,
	      "and no process, not even an ended one");
	printf("1..%d\n", count);
	return failures != 0;
}
