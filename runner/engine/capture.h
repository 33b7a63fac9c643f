/* A run's output, from its pipes to what the result keeps of it. */
#ifndef ISORUN_ENGINE_CAPTURE_H
#define ISORUN_ENGINE_CAPTURE_H

#include "runner/engine/receipt.h"
#include "sandbox/plan.h"
#include "sandbox/watch/drain.h"

/*
 * Open both streams, for a payload that is `identity` on the host.
 *
 * outlets  borrowed; where they are passed through, or -1
 *
 * Errors: ISO_ERR_SYSTEM. iso_stream_done is for the caller to call on both, also after a failure.
 */
int iso_capture_open(struct iso_stream streams[2], const struct iso_streams *wanted,
		     const struct iso_identity *identity, const int outlets[2],
		     struct iso_error *err);

/* Keep in `result` what the streams have retained, and say where output was lost. */
void iso_capture_keep(struct iso_stream streams[2], const struct iso_streams *wanted,
		      struct iso_result *result);

#endif
