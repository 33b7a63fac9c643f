/*
 * User namespaces with a map: those that mounts are mapped by are made here, those that payloads
 * live in only get their map here. Source: user_namespaces(7).
 */
#ifndef ISORUN_SANDBOX_LAUNCH_USERNS_H
#define ISORUN_SANDBOX_LAUNCH_USERNS_H

#include "runner/isorun.h"
#include "sandbox/launch/spawn.h"

struct iso_userns {
	int fd;			   /* owned */
	struct iso_process holder; /* owned; the killed process that made it */
	char *stack;		   /* owned; that process's, until it has ended */
};

/* One that holds nothing: what iso_userns_done may be given in any case. */
#define ISO_USERNS_NONE ((struct iso_userns){.fd = -1, .holder = {.pidfd = -1}})

/*
 * Make a user namespace in which setgroups(2) is denied.
 *
 * uid_map, gid_map  lines of "INSIDE OUTSIDE COUNT", as in /proc/PID/uid_map
 *
 * Needs CAP_SETUID and CAP_SETGID. Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM; then nothing is owned.
 * Thread-safe.
 */
int iso_userns_make(const char *uid_map, const char *gid_map, struct iso_userns *ret_userns,
		    struct iso_error *err);

/* Write the maps of the user namespace that `pid` has just made, as above. 0, or a negative
 * errno. */
int iso_userns_map(pid_t pid, const char *uid_map, const char *gid_map);

/* Release it; whoever lives in it keeps it alive. */
void iso_userns_done(struct iso_userns *userns);

#endif
