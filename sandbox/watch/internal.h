/* What the two halves of the supervision share: the one that goes from phase to phase, and the
 * one that listens to the init. */
#ifndef ISORUN_SANDBOX_WATCH_INTERNAL_H
#define ISORUN_SANDBOX_WATCH_INTERNAL_H

#include "sandbox/watch/supervise.h"

enum {
	ISO_SLOT_CONTROL,
	ISO_SLOT_INIT,
	ISO_SLOT_CANCEL,
	ISO_SLOT_OOM,
	ISO_SLOT_EMPTY,			    /* the cgroup's events */
	ISO_SLOT_INPUT,			    /* what is typed */
	ISO_SLOT_MASTER,		    /* the terminal that takes it */
	ISO_SLOT_READ,			    /* two: the streams' pipes */
	ISO_SLOT_WRITE = ISO_SLOT_READ + 2, /* two: their outlets */
	ISO_SLOT_COUNT = ISO_SLOT_WRITE + 2,
};
_Static_assert(ISO_SLOT_COUNT <= ISO_WATCH_SLOTS, "the watch has a place for each");

/* Kill everything and go on to wait for its end; `early`: before the payload has ended. */
void iso_kill_all(struct iso_supervision *run);
void iso_kill_early(struct iso_supervision *run);

/* Read the init's records, as many as there are, and do what they ask for. */
void iso_records_read(struct iso_supervision *run);

#endif
