/*
 * Writing in a program that is not ours: a reader that has left and a file that is as large as it
 * may get (RLIMIT_FSIZE) are errors, EPIPE and EFBIG, and no signal that ends the program. Between
 * begin and end both signals are blocked in this thread, and one that we caused is taken back.
 */
#ifndef ISORUN_BASE_FILE_WRITE_GUARD_H
#define ISORUN_BASE_FILE_WRITE_GUARD_H

#include <signal.h>
#include <stdint.h>

struct iso_write_guard {
	uint64_t saved;	  /* the thread's mask */
	sigset_t pending; /* of both, those that were pending before */
};

void iso_write_guard_begin(struct iso_write_guard *ret_guard);

/* `failed` is the errno that a write in between ended with, or 0. Keeps errno. */
void iso_write_guard_end(const struct iso_write_guard *guard, int failed);

#endif
