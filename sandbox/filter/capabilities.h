/* Names of Linux capabilities, by libcap. Thread-safe. */
#ifndef ISORUN_SANDBOX_FILTER_CAPABILITIES_H
#define ISORUN_SANDBOX_FILTER_CAPABILITIES_H

#include <stdint.h>

#include "runner/base/text/json.h"

/* The bit of a capability named as "net_raw", "cap_net_raw" or "CAP_NET_RAW"; 0: none is. */
uint64_t iso_capability_bit(const char *name);

/* Add the names of the capabilities whose bits are set in `mask` as an array. */
void iso_capabilities_add(struct iso_json *json, cJSON *object, const char *name, uint64_t mask);

#endif
