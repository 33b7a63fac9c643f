/*
 * Options as typed rows: the same table drives parsing, help, completions, and the check of the
 * manual. A row says which member of its command's structure an option fills.
 */
#ifndef ISORUN_CLI_OPTIONS_OPTIONS_H
#define ISORUN_CLI_OPTIONS_OPTIONS_H

#include <stddef.h>

#include "runner/isorun.h"

enum cli_kind {
	CLI_CALL = 0,	   /* a function reads it */
	CLI_FLAG,	   /* bool: true when it is given */
	CLI_TEXT,	   /* const char *: the word itself, borrowed from argv */
	CLI_SIZE,	   /* uint64_t: bytes, such as 64M */
	CLI_COUNT,	   /* uint64_t: at least 1 */
	CLI_ID,		   /* uint64_t: 0 to 2^32-2 */
	CLI_DURATION,	   /* uint64_t: ms, at least 1 */
	CLI_DURATION_OR_0, /* the same, or 0 */
	CLI_CPUS,	   /* uint64_t: thousandths */
	CLI_CHOICE,	   /* an enumeration or bool: one of some words */
};

struct cli_choice {
	const char *word; /* NULL ends the list */
	int value;
};

struct cli_option {
	const char *name; /* without the dashes; NULL ends the table */
	enum cli_kind kind;
	size_t offset, size;  /* of the member, see CLI_MEMBER; nothing for CLI_CALL */
	const char *argument; /* its placeholder, or NULL: it takes no value */
	const char *help;
	const struct cli_choice *choices;
	int (*apply)(void *target, const char *value, struct iso_error *err);
};

#define CLI_MEMBER(type, member) offsetof(type, member), sizeof(((type *)NULL)->member)

/* One command: all that parsing, help, completions and the manual know of it. */
struct cli_command {
	const char *name;  /* "run"; "audit verify" for an action of a command */
	const char *usage; /* what follows the name */
	const char *summary;
	const struct cli_option *options;
	int operand_count;    /* how many words follow the options; CLI_ANY: what it likes */
	const char *operands; /* the words that they can be, "bash|zsh|fish"; or NULL: anything */
	const char *notes;    /* for its help, or NULL */
	int (*main)(const struct cli_command *command, char **argv); /* the exit code */
};

#define CLI_ANY (-1)

/*
 * Read the options at the start of `argv` (NULL-terminated) into `target`, the structure that the
 * command's rows are about. They end before the first other word, or after "--".
 *
 * ret_rest  what follows the options
 *
 * Returns 0, 1 when --help is among them (which every command has), or -1 with ISO_ERR_INVALID.
 * What is wrong first is told, and the options that follow it are read all the same: a request that
 * is refused may still say where its receipt goes.
 */
int cli_options_read(const struct cli_command *command, void *target, char **argv, char ***ret_rest,
		     struct iso_error *err);

/* Refuse the value of --`option`: always -1. */
int cli_refuse(struct iso_error *err, const char *option, const char *value, const char *rule);

#endif
