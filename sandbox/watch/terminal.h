/*
 * The caller's side of a payload's terminal: input goes from the caller's descriptor to the master,
 * window sizes too. What comes out of the master is a stream like any other
 * (sandbox/watch/drain.h).
 */
#ifndef ISORUN_SANDBOX_WATCH_TERMINAL_H
#define ISORUN_SANDBOX_WATCH_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct iso_terminal {
	int master_fd; /* owned; -1 until there is one */
	int input_fd;  /* borrowed; -1: no (more) input */
	char buffer[1024];
	size_t pending, written; /* input read, and how much of it the master has */
};

/* Take over `master_fd` and the size of the caller's terminal at `input_fd`, if it is one. */
void iso_terminal_start(struct iso_terminal *terminal, int master_fd, int input_fd);

/* What to poll: the input while nothing is pending, else the master for writing. */
bool iso_terminal_wants_input(const struct iso_terminal *terminal);
bool iso_terminal_wants_write(const struct iso_terminal *terminal);

/* Move some input, never blocking. The end of the input is the terminal's end-of-file character. */
void iso_terminal_pump(struct iso_terminal *terminal);

/* Give the payload's terminal the size of the caller's. */
void iso_terminal_resize(const struct iso_terminal *terminal);

void iso_terminal_done(struct iso_terminal *terminal);

#endif
