/* Unix stream sockets: one that listens, one that is connected, who is at the other end.
 * Thread-safe. Sources: unix(7), SO_PEERCRED. */
#ifndef ISORUN_WIRE_SOCKET_H
#define ISORUN_WIRE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"

/*
 * Listen at `path`, mode 0600, non-blocking and close-on-exec. A socket that nobody listens on any
 * more is replaced; one that is in use, or anything else that has the name, is not taken.
 *
 * Returns the descriptor, or -1. Errors: ISO_ERR_INVALID (the path is empty or too long),
 * ISO_ERR_SYSTEM.
 */
int iso_wire_listen(const char *path, struct iso_error *err);

/* Connect to `path`, non-blocking and close-on-exec. The descriptor, or -1 with errno. */
int iso_wire_connect(const char *path);

/* Take a connection, non-blocking and close-on-exec. The descriptor, or -1 with errno. */
int iso_wire_accept(int listen_fd);

/* Whether the other end is root or the user that this process runs as. */
bool iso_wire_peer_is_ours(int fd);

/* Wait until `fd` is ready for `events` (poll(2)); false at `deadline_ns` (monotonic) or an
 * error. */
bool iso_wire_wait(int fd, short events, int64_t deadline_ns);

#endif
