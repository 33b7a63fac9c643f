/* Dispatch on the first word. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/cli/cli.h"

#define ENOUGH_DESCRIPTORS 64

const struct cli_command cli_commands[] = {
	{"run", cli_run},	  {"plan", cli_plan},
	{"exec", cli_exec},	  {"bash", cli_bash},
	{"explain", cli_explain}, {"authority", cli_authority},
	{"audit", cli_audit},	  {"doctor", cli_doctor},
	{"gc", cli_gc},		  {"completion", cli_completion},
	{"help", cli_help},	  {"--help", cli_help},
	{"-h", cli_help},
};
const size_t cli_command_count = ISO_COUNT(cli_commands);

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
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= ENOUGH_DESCRIPTORS)
		return;
	limit.rlim_cur = limit.rlim_max < ENOUGH_DESCRIPTORS ? limit.rlim_max : ENOUGH_DESCRIPTORS;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* whoever needs more hears about it then */
}

void cli_print_error(const struct iso_error *err)
{
	if (err->hint[0] != '\0')
		fprintf(stderr, "isorun: %s\n  %s\n", err->message, err->hint);
	else if (err->os_errno == EMFILE)
		fprintf(stderr, "isorun: %s\n  raise the limit of open files: ulimit -n %d\n",
			err->message, ENOUGH_DESCRIPTORS);
	else
		fprintf(stderr, "isorun: %s\n", err->message);
}

int cli_print_line(const char *text)
{
	if (printf("%s\n", text) < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "isorun: write standard output: %s\n", strerror(errno));
		return CLI_EXIT_FAILED;
	}
	return 0;
}

/* A command whose first word is --help is asked about itself. */
static int run_command(const struct cli_command *command, char **argv)
{
	if (argv[1] != NULL && strcmp(argv[1], "--help") == 0)
		return cli_help((char *[]){argv[0], NULL});
	return command->main(argv + 1);
}

int main(int argc, char **argv)
{
	open_standard_streams();
	raise_descriptor_limit();
	signal(SIGPIPE, SIG_IGN); /* a reader that leaves is an error value, not our end */
	if (argc < 2) {
		(void)cli_help((char *[]){NULL});
		return CLI_EXIT_FAILED;
	}
	if (strcmp(argv[1], "--version") == 0)
		return cli_print_line("isorun " ISORUN_VERSION);
	for (size_t i = 0; i < cli_command_count; i++) {
		if (strcmp(argv[1], cli_commands[i].name) == 0)
			return run_command(&cli_commands[i], argv + 1);
	}
	fprintf(stderr, "isorun: there is no command \"%s\"\n  isorun help lists the commands\n",
		argv[1]);
	return CLI_EXIT_FAILED;
}
