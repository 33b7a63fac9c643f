/*
 * Stations of one process that come and go. Exits with 0 when all runs ended well.
 *
 * host_stations 120      three, each with a run, freed in the order of the digits
 * host_stations threads  in several threads at once: made, run on, freed
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/isorun.h"

#define THREADS 4
#define ROUNDS	8

static atomic_int failures;

static void fail(const char *why)
{
	fprintf(stderr, "host_stations: %s\n", why);
	atomic_fetch_add(&failures, 1);
}

/* A run whose limits were in force to its end: the counters of both controllers are there. */
static void check(const iso_result *result)
{
	struct iso_error err = {0};
	char *receipt = NULL;
	if (iso_result_exit_code(result) != 0)
		fail(iso_result_error(result)->message);
	else if (iso_result_receipt(result, &receipt, &err) < 0)
		fail(err.message);
	else if (strstr(receipt, "\"oom_kills\":0") == NULL ||
		 strstr(receipt, "\"pids_limit_hits\":0") == NULL)
		fail(receipt);
	free(receipt);
}

static void run_on(iso_station *station)
{
	const char *argv[] = {"true", NULL};
	struct iso_request request;
	struct iso_error err = {0};
	iso_run *run = NULL;
	iso_result *result = NULL;
	iso_request_init(&request);
	request.argv = argv;
	if (iso_run_start(station, &request, &run, &err) < 0) {
		fail(err.message);
		return;
	}
	while (iso_run_step(run))
		;
	if (iso_run_take_result(run, &result, &err) < 0)
		fail(err.message);
	else
		check(result);
	iso_result_free(result);
	iso_run_free(run);
}

static void *come_and_go(void *argument)
{
	struct iso_error err = {0};
	(void)argument;
	for (int round = 0; round < ROUNDS; round++) {
		iso_station *station = NULL;
		if (iso_station_new(&station, &err) < 0)
			fail(err.message);
		else
			run_on(station);
		iso_station_free(station);
	}
	return NULL;
}

static void use_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, come_and_go, NULL) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void free_in_order(const char *digits)
{
	iso_station *stations[3] = {NULL};
	struct iso_error err = {0};
	for (int i = 0; i < 3; i++) {
		if (iso_station_new(&stations[i], &err) < 0)
			fail(err.message);
		else
			run_on(stations[i]);
	}
	for (const char *digit = digits; *digit != '\0'; digit++) {
		iso_station_free(stations[*digit - '0']);
		stations[*digit - '0'] = NULL;
		for (int i = 0; i < 3; i++) { /* those that are left still work */
			if (stations[i] != NULL)
				run_on(stations[i]);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "threads") == 0)
		use_threads();
	else if (argc == 2 && strspn(argv[1], "012") == 3 && argv[1][3] == '\0')
		free_in_order(argv[1]);
	else
		return 2;
	return failures != 0;
}
