/*
 * What this host and this process can do, probed once and passed in: never a global.
 */
#ifndef ISORUN_SANDBOX_HOST_H
#define ISORUN_SANDBOX_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"
#include "sandbox/host_ids.h"

struct iso_host {
	uint32_t euid, egid;
	bool privileged; /* root of the host, with every capability that a launch needs */
	uint64_t memory_bytes;
	uint64_t nofile_hard_count;   /* of this process */
	uint32_t landlock_abi;	      /* 0: this kernel has none, or does not use it */
	struct iso_id_range host_ids; /* whose payloads' ids are; unset for an ordinary user */
};

/* The machine's memory in bytes. Errors: ISO_ERR_SYSTEM. */
int iso_host_memory(uint64_t *ret_bytes, struct iso_error *err);

/* Fill `ret_host`. Errors: ISO_ERR_SYSTEM, ISO_ERR_INVALID (iso_id_range_read). */
int iso_host_probe(struct iso_host *ret_host, struct iso_error *err);

/* The first capability that a launch as root needs and this process lacks, e.g. "cap_sys_admin", or
 * NULL. Static. */
const char *iso_host_missing_capability(void);

#endif
