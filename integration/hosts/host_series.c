/*
 * Many runs of one engine, each told by a line of standard input:
 *	host_series [ro SOURCE TARGET | rw SOURCE TARGET | hide PATH]…
 * "COMMAND" is run inside by sh, with these mounts, in the current directory; its output is
 * printed.
 * "!COMMAND" is run by the host's shell, between the runs. Exits with 1 when any of them failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/isorun.h"

#define MOUNTS_MAX 16

static int read_mounts(char **words, struct iso_mount *mounts)
{
	int count = 0;
	for (; *words != NULL && count < MOUNTS_MAX; words += 2) {
		struct iso_mount *mount = &mounts[count++];
		if (strcmp(words[0], "hide") == 0) {
			*mount = (struct iso_mount){.kind = ISO_MOUNT_HIDE, .target = words[1]};
			continue;
		}
		*mount = (struct iso_mount){
			.kind = strcmp(words[0], "rw") == 0 ? ISO_MOUNT_RW : ISO_MOUNT_RO,
			.source = words[1],
			.target = words[2],
		};
		words++;
	}
	return count;
}

static int run(iso_engine *engine, struct iso_request *request, const char *command)
{
	const char *const argv[] = {"sh", "-c", command, NULL};
	struct iso_error err = {0};
	iso_result *result = NULL;
	request->argv = argv;
	if (iso_engine_run(engine, request, &result, &err) < 0) {
		fprintf(stderr, "error: %s\n", err.message);
		return -1;
	}
	int code = iso_result_exit_code(result);
	if (iso_result_error(result) != NULL)
		fprintf(stderr, "error: %s\n", iso_result_error(result)->message);
	iso_result_free(result);
	return code;
}

int main(int argc, char **argv)
{
	struct iso_mount mounts[MOUNTS_MAX];
	struct iso_request request;
	struct iso_error err = {0};
	iso_engine *engine = NULL;
	char line[4096];
	(void)argc;
	setvbuf(stdout, NULL, _IONBF, 0); /* what runs write comes between what is written here */
	iso_request_init(&request);
	request.mount_count = (size_t)read_mounts(argv + 1, mounts);
	request.mounts = mounts;
	request.stdout_fd = 1;
	request.stderr_fd = 2;
	if (iso_engine_new(&engine, &err) < 0) {
		fprintf(stderr, "host_series: %s\n", err.message);
		return 1;
	}
	int failed = 0;
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '!')
			failed |= system(line + 1);
		else
			failed |= run(engine, &request, line);
	}
	iso_engine_free(engine);
	return failed != 0;
}
