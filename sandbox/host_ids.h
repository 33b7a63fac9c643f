/*
 * Host ids that own nothing, for the payloads of runs that root starts: a block of 65,536 for each
 * run, so that what the kernel counts by user is counted by run, and no run has power over the
 * processes of another one.
 *
 * The blocks come from one range of the host: that of ISO_HOST_IDS_FILE, or one that no
 * distribution hands out. A block is taken by a lock on its byte of ISO_HOST_IDS_LOCKS, which ends
 * with the last process that holds the descriptor, however that ends.
 */
#ifndef ISORUN_SANDBOX_HOST_IDS_H
#define ISORUN_SANDBOX_HOST_IDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"

#define ISO_HOST_IDS_FILE  "/etc/isorun/host-ids"
#define ISO_HOST_IDS_PLACE "/run/isorun"
#define ISO_HOST_IDS_LOCKS "host-ids.lock"

#define ISO_ID_BLOCK	   65536u /* ids of each kind */
#define ISO_HOST_IDS_KEPT  16

struct iso_id_range {
	uint32_t first;
	uint32_t block_count;
};

struct iso_id_block {
	uint32_t first; /* 0: none */
	int lock_fd;	/* owned; or -1: nobody else is kept from taking it, too */
};

#define ISO_ID_BLOCK_NONE ((struct iso_id_block){.lock_fd = -1})

/*
 * The host's range: that of the file `path`, one line FIRST:COUNT, which must belong to root and be
 * writable by root alone; where there is no file, the default one.
 *
 * Errors: ISO_ERR_INVALID, ISO_ERR_SYSTEM.
 */
int iso_id_range_read(const char *path, struct iso_id_range *ret_range, struct iso_error *err);

/* Whether this process, which may live in a user namespace, can map all of it. */
bool iso_id_range_is_mapped(const struct iso_id_range *range);

/* Whether the file at `path`, like /etc/subuid, hands out ids of the block at `first` already. */
bool iso_id_block_is_subordinate(const char *path, uint32_t first);

/* What runs of one process share. Thread-safe but for init and done. */
struct iso_host_ids {
	pthread_mutex_t lock;
	struct iso_id_range range;
	struct iso_id_block kept[ISO_HOST_IDS_KEPT]; /* owned; taken, and of no run now */
	unsigned int kept_count;
};

void iso_host_ids_init(struct iso_host_ids *ret_ids, const struct iso_id_range *range);
void iso_host_ids_done(struct iso_host_ids *ids);

/*
 * Take a block that no live run has and whose id number `slot` no process has. Where no lock file
 * can be made (a host without a writable /run) the block is only a random one, and has no lock_fd.
 *
 * Errors: ISO_ERR_SYSTEM, ISO_ERR_UNSUPPORTED (all are taken).
 */
int iso_host_ids_take(struct iso_host_ids *ids, uint32_t slot, struct iso_id_block *ret_block,
		      struct iso_error *err);

/* Give it back: for this process's next run when `all_gone`, that is, when none of its processes is
 * left. A block of no ids is fine. */
void iso_host_ids_give_back(struct iso_host_ids *ids, struct iso_id_block *block, bool all_gone);

/* The place of an id of the payload's world in its block: its own number, or, beyond the block, the
 * last one. */
static inline uint32_t iso_id_slot(uint32_t inner)
{
	return inner < ISO_ID_BLOCK ? inner : ISO_ID_BLOCK - 1;
}

#define ISO_ID_MAP_SIZE 256

/* The map of a payload's user namespace, "INSIDE OUTSIDE COUNT" lines: all of the block at `first`,
 * where `inner` is found at its slot. */
void iso_id_map_inside(uint32_t first, uint32_t inner, char ret_map[ISO_ID_MAP_SIZE]);

/* The map of a mount: `owner` on disk appears as the id at `slot`, who appears as `owner` would;
 * all other ids up to 65535 at their own number. */
void iso_id_map_mount(uint32_t first, uint32_t slot, uint32_t owner, char ret_map[ISO_ID_MAP_SIZE]);

#endif
