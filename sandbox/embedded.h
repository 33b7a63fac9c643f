/* What was computed at build time. Read-only, valid for the process's life. */
#ifndef ISORUN_SANDBOX_EMBEDDED_H
#define ISORUN_SANDBOX_EMBEDDED_H

#include <linux/filter.h>
#include <stddef.h>

/* The default seccomp profile, compiled. */
extern const struct sock_filter iso_default_filter[];
extern const size_t iso_default_filter_count;

/* The rtnetlink request that brings the loopback up. */
extern const unsigned char iso_loopback_message[];
extern const size_t iso_loopback_message_size;

#endif
