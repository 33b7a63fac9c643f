/* The command line face. Only this layer prints, reads the environment and exits. */
#ifndef ISORUN_CLI_CLI_H
#define ISORUN_CLI_CLI_H

#include "runner/base/text/strv.h"
#include "runner/cli/options/options.h"
#include "runner/isorun.h"
#include "runner/workspace/writable.h"

#define CLI_EXIT_FAILED	       125 /* isorun could not or would not run it */
#define CLI_ENOUGH_DESCRIPTORS 64  /* for one run; a soft limit below that is raised */

extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;

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
	const char *rootfs, *seccomp, *network; /* as given, or NULL */
	bool json, quiet, diff, no_diff, tty;
	int receipt_fd;		      /* the caller's, of "fd:N"; or -1 */
	const char *stdin_file;	      /* or NULL; borrowed from argv */
	int stdin_fd;		      /* owned; of that file, or -1 */
	struct iso_writable writable; /* owned; the workspace, opened once, and other places */
};

/* The rows of each command, which end with a nameless one. */
extern const struct cli_option cli_run_options[], cli_exec_options[], cli_bash_options[],
	cli_explain_options[], cli_authority_options[], cli_doctor_options[], cli_no_options[],
	cli_audit_verify_options[], cli_audit_show_options[], cli_audit_checkpoint_options[],
	cli_audit_rotate_options[], cli_audit_export_options[];

/* As cli_options_read, with what follows from several options together. Where the receipt goes is
 * known even on failure. */
int cli_run_parse(const struct cli_command *command, struct cli_run *run, char **argv,
		  char ***ret_rest, struct iso_error *err);
void cli_run_init(struct cli_run *run);
void cli_run_done(struct cli_run *run);

/* Open the file of --stdin, where there is one, once run->workspace is open. Errors:
 * ISO_ERR_INVALID, ISO_ERR_DENIED. */
int cli_run_open_stdin(struct cli_run *run, struct iso_error *err);

/* The commands: arguments follow the command's name. */
int cli_run(const struct cli_command *command, char **argv);
int cli_plan(const struct cli_command *command, char **argv);
int cli_doctor(const struct cli_command *command, char **argv);
int cli_completion(const struct cli_command *command, char **argv);
int cli_gc(const struct cli_command *command, char **argv);
int cli_exec(const struct cli_command *command, char **argv);
int cli_bash(const struct cli_command *command, char **argv);
int cli_explain(const struct cli_command *command, char **argv);
int cli_authority(const struct cli_command *command, char **argv);
int cli_audit(const struct cli_command *command, char **argv);
int cli_audit_verify(const struct cli_command *command, char **argv);
int cli_audit_show(const struct cli_command *command, char **argv);
int cli_audit_checkpoint(const struct cli_command *command, char **argv);
int cli_audit_rotate(const struct cli_command *command, char **argv);
int cli_audit_export(const struct cli_command *command, char **argv);
int cli_audit_keygen(const struct cli_command *command, char **argv);
int cli_help(const struct cli_command *command, char **argv);

/* The command that the words name, and what follows its name in `*ret_rest`; NULL: there is
 * none. */
const struct cli_command *cli_find_command(char **words, char ***ret_rest);

/* Explain a command; the exit code. */
int cli_explain_command(const struct cli_command *command);

/* "isorun: …" and, where there is one, the remedy on a second line, to standard error. */
void cli_print_error(const struct iso_error *err);

/* The same, and CLI_EXIT_FAILED. */
int cli_fail(const struct iso_error *err);

/* Write text and a newline to standard output; the exit code. */
int cli_print_line(const char *text);

#endif
