/* What holds where a request, and the policy behind it, say nothing. */
#ifndef ISORUN_PLAN_DEFAULTS_H
#define ISORUN_PLAN_DEFAULTS_H

#include <stdint.h>

#define ISO_DEFAULT_PIDS	 1024
#define ISO_DEFAULT_NOFILE_SOFT	 1024
#define ISO_DEFAULT_NOFILE_HARD	 65536
#define ISO_DEFAULT_TMP_BYTES	 (UINT64_C(512) << 20)
#define ISO_DEFAULT_GRACE_MS	 2000
#define ISO_DEFAULT_OUTPUT_LIMIT 16000
#define ISO_DEFAULT_INNER_ID	 1000
#define ISO_DEFAULT_ROWS	 24
#define ISO_DEFAULT_COLUMNS	 80

/* The same for memory, in bytes, on a machine that has `machine_bytes`: half of it, 2 GiB at
 * most. */
static inline uint64_t iso_default_memory(uint64_t machine_bytes)
{
	const uint64_t most = UINT64_C(2) << 30;
	return machine_bytes / 2 < most ? machine_bytes / 2 : most;
}

#endif
