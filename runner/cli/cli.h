/* The command line face. Only this layer prints, reads the environment and exits. */
#ifndef ISORUN_CLI_CLI_H
#define ISORUN_CLI_CLI_H

#include "runner/base/text/strv.h"
#include "runner/isorun.h"

#define CLI_EXIT_FAILED 125 /* isorun could not or would not run it */

/* What the options of `run` and `plan` amount to. */
struct cli_run {
	struct iso_request request;
	struct iso_mount *mounts; /* owned, with the strings in `strings` */
	size_t mount_count;
	struct iso_strv env;			/* owned */
	struct iso_strv strings;		/* owned; what the request borrows */
	struct iso_strv passed;			/* owned; names given to --pass-env */
	const char *receipt;			/* file name or "fd:N"; borrowed from argv */
	const char *policy, *audit, *audit_key; /* file names, or NULL; borrowed from argv */
	bool json, quiet, diff, no_diff, tty;
	int stdin_fd; /* owned when above 2 */
	bool stdin_inherited;
	bool help;
};

/* One option: the table drives parsing, help and completions. */
struct cli_option {
	const char *name;     /* without the dashes */
	const char *argument; /* its placeholder, or NULL for a flag */
	const char *help;
	int (*apply)(struct cli_run *run, const char *value, struct iso_error *err);
};

extern const struct cli_option cli_run_options[];
extern const size_t cli_run_option_count;

/*
 * Read `argv` (NULL-terminated) up to the first word that is no option. On success `*ret_rest` is
 * what follows. Where the receipt goes is known even on failure, as far as options were readable.
 */
int cli_run_parse(struct cli_run *run, char **argv, char ***ret_rest, struct iso_error *err);
void cli_run_init(struct cli_run *run);
void cli_run_done(struct cli_run *run);

/* One command by its name. */
struct cli_command {
	const char *name;
	int (*main)(char **argv);
};

extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;

/* The commands: arguments follow the command's name; the result is the exit code. */
int cli_run(char **argv);
int cli_plan(char **argv);
int cli_doctor(char **argv);
int cli_completion(char **argv);
int cli_gc(char **argv);
int cli_exec(char **argv);
int cli_bash(char **argv);
int cli_explain(char **argv);
int cli_authority(char **argv);
int cli_audit(char **argv);
int cli_help(char **argv);

/* "isorun: …" and, where there is one, the remedy on a second line, to standard error. */
void cli_print_error(const struct iso_error *err);

/* Write text and a newline to standard output; the exit code. */
int cli_print_line(const char *text);

#endif
