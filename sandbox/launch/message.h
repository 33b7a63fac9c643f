/* What the init is told (struct iso_init_config in sandbox/child/steps.h), as one message. */
#ifndef ISORUN_SANDBOX_LAUNCH_MESSAGE_H
#define ISORUN_SANDBOX_LAUNCH_MESSAGE_H

#include <stddef.h>

#include "sandbox/plan.h"

/*
 * Compose the message for `plan` and a payload that is `identity` on the host; the caller frees it.
 *
 * Errors: ISO_ERR_INVALID when it would be too long; ISO_ERR_NOMEM.
 */
int iso_message_compose(const struct iso_plan *plan, const struct iso_identity *identity,
			char **ret_message, size_t *ret_size, struct iso_error *err);

#endif
