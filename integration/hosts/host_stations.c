/*
 * Three stations in one process, each with a run, freed in the order of the digits in argv[1]:
 * host_stations 120. Exits with 0 when all runs ended well.
 */
#include <stdio.h>
#include <string.h>

#include "runner/isorun.h"

static int run_on(iso_station *station)
{
	const char *argv[] = {"true", NULL};
	struct iso_request request;
	struct iso_error err = {0};
	iso_run *run = NULL;
	iso_result *result = NULL;
	iso_request_init(&request);
	request.argv = argv;
	if (iso_run_start(station, &request, &run, &err) < 0)
		return 1;
	while (iso_run_step(run))
		;
	int failed =
		iso_run_take_result(run, &result, &err) < 0 || iso_result_exit_code(result) != 0;
	if (result != NULL && iso_result_error(result) != NULL)
		fprintf(stderr, "host_stations: %s\n", iso_result_error(result)->message);
	iso_result_free(result);
	iso_run_free(run);
	return failed;
}

int main(int argc, char **argv)
{
	iso_station *stations[3] = {NULL};
	struct iso_error err = {0};
	int failed = 0;
	if (argc != 2 || strspn(argv[1], "012") != 3 || argv[1][3] != '\0')
		return 2;
	for (int i = 0; i < 3; i++) {
		if (iso_station_new(&stations[i], &err) < 0) {
			fprintf(stderr, "host_stations: %s\n", err.message);
			return 1;
		}
	}
	for (int i = 0; i < 3; i++)
		failed |= run_on(stations[i]);
	for (const char *digit = argv[1]; *digit != '\0'; digit++) {
		iso_station_free(stations[*digit - '0']);
		stations[*digit - '0'] = NULL;
		for (int i = 0; i < 3; i++) /* those that are left still work */
			failed |= stations[i] != NULL && run_on(stations[i]);
	}
	return failed;
}
