/*
 * One run with what the command line refuses without a policy:
 *	host_request [+CAPABILITY-NUMBER…] -- PROGRAM ARGUMENT…
 * Prints the receipt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/isorun.h"

int main(int argc, char **argv)
{
	struct iso_request request;
	struct iso_error err = {0};
	iso_engine *engine = NULL;
	iso_result *result = NULL;
	char *json = NULL;
	int next = 1;
	iso_request_init(&request);
	request.capture = true;
	for (; next < argc && strcmp(argv[next], "--") != 0; next++)
		request.capabilities |= UINT64_C(1) << atoi(argv[next] + 1);
	request.argv = (const char *const *)argv + next + 1;
	if (iso_engine_new(&engine, &err) < 0 ||
	    iso_engine_run(engine, &request, &result, &err) < 0 ||
	    iso_result_receipt(result, &json, &err) < 0) {
		fprintf(stderr, "host_request: %s\n", err.message);
		return 1;
	}
	puts(json);
	free(json);
	iso_result_free(result);
	iso_engine_free(engine);
	return 0;
}
