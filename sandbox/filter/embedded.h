/* What was computed at build time. Read-only, valid for the process's life. */
#ifndef ISORUN_SANDBOX_FILTER_EMBEDDED_H
#define ISORUN_SANDBOX_FILTER_EMBEDDED_H

#include <linux/filter.h>
#include <stddef.h>

/* The default seccomp profile, compiled. */
extern const struct sock_filter iso_default_filter[];
extern const size_t iso_default_filter_count;

#endif
