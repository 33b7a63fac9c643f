/* All commands, one row each, and how a command line finds its own. */
#include <string.h>

#include "runner/base/array.h"
#include "runner/cli/cli.h"

#define EXIT_NOTES                                                                     \
	"Sizes take K, M, G (powers of 1024); durations take ms, s, m, h.\n"           \
	"Exit code: the command's own; 128+N when a signal ended it; 124 timed out;\n" \
	"125 isorun could not or would not run it; 126 not executable; 127 not found.\n"

const struct cli_option cli_no_options[] = {{0}};

const struct cli_command cli_commands[] = {
	{"run", "[options] -- CMD [ARG…]", "run one command isolated", cli_run_options, CLI_ANY,
	 NULL, EXIT_NOTES, cli_run},
	{"plan", "[options] -- CMD [ARG…]", "print what run would execute; nothing runs",
	 cli_run_options, CLI_ANY, NULL, EXIT_NOTES, cli_plan},
	{"exec", "--policy FILE --tool NAME [options]", "one tool call under a policy",
	 cli_exec_options, 0, NULL,
	 "The tools: filesystem.read, filesystem.list, filesystem.write, shell.exec, git.diff,\n"
	 "host.bash. The receipt is printed.\n",
	 cli_exec},
	{"bash", "--policy FILE [options] 'COMMAND LINE'",
	 "host.bash with its capability handshake", cli_bash_options, 1, NULL,
	 "The receipt is printed.\n", cli_bash},
	{"explain", "--policy FILE --tool NAME [options]",
	 "what the policy says of a call, and why", cli_explain_options, 0, NULL, NULL,
	 cli_explain},
	{"authority", "--policy FILE --socket PATH [options]",
	 "the built-in authority as a process of its own", cli_authority_options, 0, NULL, NULL,
	 cli_authority},
	{"audit", "ACTION [options] FILE…", "the audit log", cli_no_options, CLI_ANY,
	 "verify|show|checkpoint|rotate|export|keygen", NULL, cli_audit},
	{"audit verify", "[options] FILE…", "find what was changed in a log; oldest file first",
	 cli_audit_verify_options, CLI_ANY, NULL, NULL, cli_audit_verify},
	{"audit show", "[options] FILE", "print a log as a table", cli_audit_show_options, CLI_ANY,
	 NULL, NULL, cli_audit_show},
	{"audit checkpoint", "--key KEY [options] FILE…", "sign where a log stands now",
	 cli_audit_checkpoint_options, CLI_ANY, NULL, NULL, cli_audit_checkpoint},
	{"audit rotate", "[options] FILE", "go on in a fresh file", cli_audit_rotate_options,
	 CLI_ANY, NULL, NULL, cli_audit_rotate},
	{"audit export", "--key KEY RECEIPT", "print a receipt as a signed in-toto statement",
	 cli_audit_export_options, CLI_ANY, NULL, NULL, cli_audit_export},
	{"audit keygen", "FILE", "make the keys FILE and FILE.pub", cli_no_options, CLI_ANY, NULL,
	 NULL, cli_audit_keygen},
	{"doctor", "[options]", "say whether this host can run isorun, and what to do",
	 cli_doctor_options, 0, NULL, NULL, cli_doctor},
	{"gc", "", "remove what runs whose isorun was killed have left", cli_no_options, 0, NULL,
	 NULL, cli_gc},
	{"completion", "bash|zsh|fish", "print completions for a shell", cli_no_options, CLI_ANY,
	 "bash|zsh|fish", NULL, cli_completion},
	{"help", "[COMMAND]", "explain a command", cli_no_options, CLI_ANY, NULL, NULL, cli_help},
};
const size_t cli_command_count = ISO_COUNT(cli_commands);

/* How many of `words` the name, one or two words, is made of; 0: it is another name. */
static size_t match_name(const char *name, char **words)
{
	size_t first = strcspn(name, " ");
	if (words[0] == NULL || strlen(words[0]) != first || strncmp(words[0], name, first) != 0)
		return 0;
	if (name[first] == '\0')
		return 1;
	return words[1] != NULL && strcmp(words[1], name + first + 1) == 0 ? 2 : 0;
}

const struct cli_command *cli_find_command(char **words, char ***ret_rest)
{
	const struct cli_command *found = NULL;
	size_t most = 0;
	for (size_t i = 0; i < cli_command_count; i++) {
		size_t matched = match_name(cli_commands[i].name, words);
		if (matched > most) {
			found = &cli_commands[i];
			most = matched;
		}
	}
	*ret_rest = words + most;
	return found;
}
