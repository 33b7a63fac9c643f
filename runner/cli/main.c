/* Dispatch on the first word. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/cli/cli.h"

/* A descriptor that we open must not become somebody's standard stream. */
static void open_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
			_exit(CLI_EXIT_FAILED);
	}
}

/* A run takes some thirty descriptors. A soft limit below that is ours to raise; the payload has
 * limits of its own. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= CLI_ENOUGH_DESCRIPTORS)
		return;
	limit.rlim_cur =
		limit.rlim_max < CLI_ENOUGH_DESCRIPTORS ? limit.rlim_max : CLI_ENOUGH_DESCRIPTORS;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* whoever needs more hears about it then */
}

int main(int argc, char **argv)
{
	static char help[] = "help";
	open_standard_streams();
	raise_descriptor_limit();
	/* A reader that leaves and a file that may not grow are errors, not our end. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		(void)cli_help(NULL, argv + argc);
		return CLI_EXIT_FAILED;
	}
	if (strcmp(argv[1], "--version") == 0)
		return cli_print_line("isorun " ISORUN_VERSION);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		argv[1] = help;
	char **rest;
	const struct cli_command *command = cli_find_command(argv + 1, &rest);
	if (command != NULL)
		return command->main(command, rest);
	fprintf(stderr, "isorun: there is no command \"%s\"\n  isorun help lists the commands\n",
		argv[1]);
	return CLI_EXIT_FAILED;
}
