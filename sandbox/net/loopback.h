/* The one network request of a launch, composed at build time with libmnl (gen_loopback.c).
 * Read-only, valid for the process's life. */
#ifndef ISORUN_SANDBOX_NET_LOOPBACK_H
#define ISORUN_SANDBOX_NET_LOOPBACK_H

#include <stddef.h>

/* The rtnetlink request that brings the loopback up. */
extern const unsigned char iso_loopback_message[];
extern const size_t iso_loopback_message_size;

#endif
