/*
 * Start a program from an unfriendly state: `probe_start STATE PROGRAM ARGUMENT…`. STATE is
 * closed-0, closed-012, ignore-chld, block-all, default-signals, leak-fds, files-N or files-soft-N.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *state = argc > 2 ? argv[1] : "";
	if (strcmp(state, "closed-0") == 0) {
		close(0);
	} else if (strcmp(state, "closed-012") == 0) {
		close(0);
		close(1);
		close(2);
	} else if (strcmp(state, "ignore-chld") == 0) {
		signal(SIGCHLD, SIG_IGN);
	} else if (strcmp(state, "block-all") == 0) {
		sigset_t all;
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		for (int number = 1; number < 32; number++)
			signal(number, SIG_IGN);
	} else if (strcmp(state, "default-signals") == 0) {
		for (int number = 1; number < 32; number++)
			signal(number, SIG_DFL);
	} else if (strcmp(state, "leak-fds") == 0) {
		for (int i = 0; i < 20; i++)
			(void)open("/", O_RDONLY);
	} else if (strncmp(state, "files-soft-", 11) == 0) {
		struct rlimit limit;
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = strtoul(state + 11, NULL, 10);
		setrlimit(RLIMIT_NOFILE, &limit);
	} else if (strncmp(state, "files-", 6) == 0) {
		rlim_t count = strtoul(state + 6, NULL, 10);
		struct rlimit limit = {count, count};
		setrlimit(RLIMIT_NOFILE, &limit);
	} else {
		fprintf(stderr, "probe_start: no such state\n");
		return 2;
	}
	execv(argv[2], argv + 2);
	return 2;
}
