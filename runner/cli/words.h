/* Options of the commands that take few of them: a table per command, read the same way. */
#ifndef ISORUN_CLI_WORDS_H
#define ISORUN_CLI_WORDS_H

#include <stdbool.h>

#include "runner/isorun.h"

struct cli_word {
	const char *name;   /* without the dashes; NULL ends the table */
	const char **value; /* where its value goes, or NULL: a flag */
	bool *flag;
};

/*
 * Read the options at the start of `argv` (NULL-terminated); `*ret_rest` is what follows them.
 * Errors: ISO_ERR_INVALID.
 */
int cli_words_read(const struct cli_word *words, char **argv, char ***ret_rest,
		   struct iso_error *err);

#endif
