/*
 * What a run waits for, as one descriptor: an epoll instance over its slots and a timer. Slots may
 * be files that cannot be polled, or the same descriptor twice. One owner, not thread-safe.
 */
#ifndef ISORUN_SANDBOX_WATCH_WATCH_H
#define ISORUN_SANDBOX_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"

#define ISO_WATCH_SLOTS 12

struct iso_watch_slot {
	int wanted_fd;	 /* borrowed; what is asked for, or -1 */
	uint32_t wanted; /* EPOLL…, 0: nothing */
	int fd;		 /* what the kernel knows of it, or -1 */
	int polled_fd;	 /* `fd`, or our copy where that was taken already */
	uint32_t armed;	 /* what the kernel has been told; 0 after an event */
	bool registered;
	bool blind; /* it cannot be watched (a file, which never blocks): it is asked itself */
	bool ready;
};

struct iso_watch {
	int fd;	      /* owned; readable when iso_watch_collect would find something */
	int timer_fd; /* owned */
	struct iso_watch_slot slots[ISO_WATCH_SLOTS];
	int64_t deadline_ns; /* what the timer is set to, or ISO_NEVER */
};

/* Errors: ISO_ERR_SYSTEM. A value that was not opened has `fd` -1. */
int iso_watch_open(struct iso_watch *ret_watch, struct iso_error *err);
void iso_watch_close(struct iso_watch *watch);

/* From the next iso_watch_arm on `slot` is `fd` (-1: nothing), wanted for `events` (EPOLLIN,
 * EPOLLOUT, EPOLLPRI). */
void iso_watch_want(struct iso_watch *watch, unsigned int slot, int fd, uint32_t events);

/* Call it before a wanted descriptor is closed by anybody but the slot's own reader: a copy of
 * it in another process would keep its events coming. */
void iso_watch_forget(struct iso_watch *watch, unsigned int slot);

/* Want nothing any more: before the descriptors are closed. */
void iso_watch_clear(struct iso_watch *watch);

/* Tell the kernel what is wanted, and be readable at `deadline_ns` (monotonic) at the latest, or at
 * once for what is always ready. */
void iso_watch_arm(struct iso_watch *watch, int64_t deadline_ns);

/* Find out which slots are ready; `wait`: until one is, or the deadline has come. */
void iso_watch_collect(struct iso_watch *watch, bool wait);

/* Whether a slot was ready at the last look. */
static inline bool iso_watch_is_ready(const struct iso_watch *watch, unsigned int slot)
{
	return watch->slots[slot].ready;
}

#endif
