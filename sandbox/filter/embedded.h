/* What was computed at build time. Read-only, valid for the process's life. */
#ifndef ISORUN_SANDBOX_FILTER_EMBEDDED_H
#define ISORUN_SANDBOX_FILTER_EMBEDDED_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* The default seccomp profile, compiled, for a payload with these capabilities (bits): one with
 * CAP_FSETID may give files set-id bits. */
const struct sock_filter *iso_default_filter(uint64_t capabilities, size_t *ret_count);

#endif
