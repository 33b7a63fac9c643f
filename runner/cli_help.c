/* Help is printed from the tables, so that it cannot say what the parser does not know. */
#include <stdio.h>
#include <string.h>

#include "runner/cli.h"

#define OPTION_COLUMN 30

static const struct {
	const char *name, *usage, *summary;
	bool run_options;
} topics[] = {
	{"run", "isorun run [options] -- CMD [ARG…]", "run one command isolated", true},
	{"plan", "isorun plan [options] -- CMD [ARG…]",
	 "print what run would execute; nothing runs", true},
	{"doctor", "isorun doctor [--json]", "say whether this host can run isorun, and what to do",
	 false},
	{"gc", "isorun gc", "remove what runs whose isorun was killed have left", false},
	{"completion", "isorun completion bash|zsh|fish", "print completions for a shell", false},
	{"help", "isorun help [COMMAND]", "this text", false},
};

static void print_options(void)
{
	printf("\nOptions:\n");
	for (size_t i = 0; i < cli_run_option_count; i++) {
		const struct cli_option *option = &cli_run_options[i];
		char left[64];
		snprintf(left, sizeof(left), "--%s%s%s", option->name, option->argument ? " " : "",
			 option->argument ? option->argument : "");
		printf("  %-*s %s\n", OPTION_COLUMN, left, option->help);
	}
	printf("\nSizes take K, M, G (powers of 1024); durations take ms, s, m, h.\n"
	       "Exit code: the command's own; 128+N when a signal ended it; 124 timed out;\n"
	       "125 isorun could not or would not run it; 126 not executable; 127 not found.\n");
}

int cli_help(char **argv)
{
	if (argv[0] == NULL) {
		printf("isorun runs a command isolated: namespaces, a cgroup of its own, a "
		       "receipt.\n\n"
		       "Usage:\n");
		for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
			printf("  %-38s %s\n", topics[i].usage, topics[i].summary);
		printf("  %-38s %s\n", "isorun --version", "print the version");
		return cli_print_line("\nisorun help run explains the options.");
	}
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (strcmp(topics[i].name, argv[0]) != 0)
			continue;
		printf("Usage: %s\n\n%s.\n", topics[i].usage, topics[i].summary);
		if (topics[i].run_options)
			print_options();
		return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
	}
	fprintf(stderr, "isorun: there is no help on \"%s\"\n  isorun help lists the commands\n",
		argv[0]);
	return CLI_EXIT_FAILED;
}
