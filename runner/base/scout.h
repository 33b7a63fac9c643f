/*
 * A process of its own for what may never come back: calls on a file system behind which somebody
 * else stands. It can be killed, and where even that does nothing (the kernel waits for an answer
 * that the other side owes), abandoned: it holds nothing of ours but what it was given.
 *
 * It is forked, so its work may use all that a fork leaves intact, memory included, and must
 * return. A host program that waits for any child may see it.
 */
#ifndef ISORUN_BASE_SCOUT_H
#define ISORUN_BASE_SCOUT_H

#include <stddef.h>

#include "runner/base/patience.h"

struct iso_scout_work {
	/* In the scout: write an answer to `reply_fd` (a stream), or none. */
	void (*action)(int reply_fd, const void *argument);
	const void *argument;
	int given_fd; /* borrowed; the one descriptor that it keeps, under the same number, or -1 */
};

/*
 * Let a scout do `work`.
 *
 * ret_reply  what it wrote, for the caller to free; ret_size: how much
 * ret_fd     a descriptor that it sent (iso_scout_send_fd), which the caller owns, or -1; NULL:
 *	none is expected
 *
 * Returns 0; or an errno: ETIMEDOUT, ECANCELED, EFBIG (more than `limit` bytes), ENOMEM or what
 * fork(2) and socketpair(2) say. Thread-safe.
 */
int iso_scout_send(const struct iso_scout_work *work, const struct iso_patience *patience,
		   size_t limit, char **ret_reply, size_t *ret_size, int *ret_fd);

/* In the scout: answer with `size` bytes, of which the first carries the descriptor `fd`. */
void iso_scout_send_fd(int reply_fd, const void *data, size_t size, int fd);

#endif
