/* What comes to the supervisor in messages: the init's records and the caller's signals. */
#ifndef ISORUN_SANDBOX_WATCH_INBOX_H
#define ISORUN_SANDBOX_WATCH_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/child/steps.h"

/* One record, and the descriptor that came with it (or -1). The size as recvmsg(2) gives it. */
ssize_t iso_inbox_record(int control_fd, struct iso_record *ret_record, int *ret_fd);

/* The numbers of signals, from a descriptor as in struct iso_request. */
struct iso_inbox_signals {
	int fd;	     /* borrowed; -1 once there will be no more */
	size_t size; /* of one message */
};

/* Begin to read `fd` (borrowed, or -1). */
void iso_inbox_open(struct iso_inbox_signals *ret_signals, int fd);

/* The next number; false: there is none now. */
bool iso_inbox_signal(struct iso_inbox_signals *signals, int *ret_signal);

#endif
