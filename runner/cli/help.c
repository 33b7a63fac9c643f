/* Help is printed from the tables, so that it cannot say what the parser does not know. */
#include <stdio.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/cli/cli.h"

#define OPTION_COLUMN 30

#define SESSION_HELP                                                            \
	"--authority ADDRESS  an external authority for host.bash: unix:PATH\n" \
	"--state DIR          where call ids and tokens outlive this process\n" \
	"--audit FILE         append the call to this audit log\n"              \
	"--audit-key FILE     sign its line with this Ed25519 key\n"            \
	"--audit-no-sync      do not wait until the line is on disk\n"          \
	"--generation NAME    which incarnation of the worker this is\n"

static const struct {
	const char *name, *usage, *summary;
	bool run_options;
	const char *details;
} topics[] = {
	{"run", "isorun run [options] -- CMD [ARG…]", "run one command isolated", true},
	{"plan", "isorun plan [options] -- CMD [ARG…]",
	 "print what run would execute; nothing runs", true},
	{"exec", "isorun exec --policy FILE --tool NAME [options]", "one tool call under a policy",
	 false,
	 "--policy FILE        the policy\n"
	 "--tool NAME          filesystem.read, filesystem.list, filesystem.write, shell.exec,\n"
	 "                     git.diff or host.bash\n"
	 "--args JSON          its arguments; @FILE or - (standard input) reads them\n"
	 "--call-id ID         the same id and call again: the first receipt, nothing runs\n"
	 "--list               print the tools that the policy permits, with their "
	 "schemas\n" SESSION_HELP},
	{"bash", "isorun bash --policy FILE [options] 'COMMAND LINE'",
	 "host.bash with its capability handshake", false,
	 "--policy FILE        the policy\n"
	 "--timeout DURATION   until it is killed (default: what the policy says)\n"
	 "--workdir DIR        where it starts (default: the workspace)\n"
	 "--call-id ID         the same id and call again: the first receipt, nothing "
	 "runs\n" SESSION_HELP},
	{"explain", "isorun explain --policy FILE --tool NAME [--args JSON]",
	 "what the policy says of a call, and why", false, NULL},
	{"authority", "isorun authority --policy FILE --socket PATH [--state DIR]",
	 "the built-in authority as a process of its own", false, NULL},
	{"audit", "isorun audit ACTION [options] FILE…", "the audit log", false,
	 "verify [--key KEY] [--checkpoint FILE] FILE…   find what was changed; oldest file first\n"
	 "show [--tool T] [--status S] [--id ID] FILE    print it as a table\n"
	 "checkpoint --key KEY [--origin NAME] FILE…     sign where the log stands now\n"
	 "rotate [--key KEY] FILE                        go on in a fresh file\n"
	 "export --key KEY RECEIPT                       a receipt as a signed in-toto statement\n"
	 "keygen FILE                                    make FILE and FILE.pub\n"},
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
		for (size_t i = 0; i < ISO_COUNT(topics); i++)
			printf("  isorun %-11s %s\n", topics[i].name, topics[i].summary);
		printf("  isorun %-11s %s\n", "--version", "print the version");
		return cli_print_line("\nisorun help COMMAND explains each.");
	}
	for (size_t i = 0; i < ISO_COUNT(topics); i++) {
		if (strcmp(topics[i].name, argv[0]) != 0)
			continue;
		printf("Usage: %s\n\n%s.\n", topics[i].usage, topics[i].summary);
		if (topics[i].run_options)
			print_options();
		if (topics[i].details != NULL)
			printf("\n%s", topics[i].details);
		return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
	}
	fprintf(stderr, "isorun: there is no help on \"%s\"\n  isorun help lists the commands\n",
		argv[0]);
	return CLI_EXIT_FAILED;
}
