/*
 * A command line taken apart as a shell would, as far as that can be done without running it:
 * simple commands with their words, quotes removed. For the static verdicts only.
 */
#ifndef ISORUN_POLICY_SHELL_WORDS_H
#define ISORUN_POLICY_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "runner/base/text/strv.h"

/* How a simple command is joined to the one before it. */
enum iso_joint {
	ISO_JOINT_START = 0,
	ISO_JOINT_NEXT, /* ; & && || newline ( { and the like */
	ISO_JOINT_PIPE, /* | or |& */
};

/* A word, and what is known of it that its text does not say. */
struct iso_word {
	char *text;	/* owned; quotes removed, variables that the line sets put in */
	bool downloads; /* a substitution in it downloads something */
};

struct iso_words {
	struct iso_word *items; /* owned */
	size_t count;
};

struct iso_simple {
	enum iso_joint joint;
	struct iso_words words;	 /* redirections taken out */
	struct iso_strv outputs; /* targets of >, >>, >|, &>, <> */
};

struct iso_line {
	struct iso_simple *commands; /* owned */
	size_t count;
};

/* Nested command substitutions and `sh -c` strings are read, too, this deep. */
#define ISO_WORDS_DEPTH 4

/*
 * Read `command`. What a shell would refuse is read as far as it goes. 0, or -1: out of memory.
 */
int iso_line_read(const char *command, struct iso_line *ret_line);

/* A zeroed line is fine. */
void iso_line_done(struct iso_line *line);

/* The word at which the command proper starts, behind `sudo -u x`, `env A=b`, `A=b`, `nohup` and
 * the like; words.count when there is none. */
size_t iso_simple_start(const struct iso_simple *simple);

/* Whether the command proper fetches something from elsewhere: the one list of such programs. */
bool iso_simple_downloads(const struct iso_simple *simple);

/* The length of NAME in "NAME=VALUE", or 0. */
size_t iso_word_assigned(const char *word);

/* "rm" of "/usr/bin/rm". Points into `word`. */
const char *iso_word_base(const char *word);

#endif
