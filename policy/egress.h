/*
 * Host names (NET-1): which ones a command line names, and whether a policy's list allows them. A
 * verdict by words, not the wall: that is the network namespace (NET-2).
 */
#ifndef ISORUN_POLICY_EGRESS_H
#define ISORUN_POLICY_EGRESS_H

#include <stdbool.h>

#include "runner/base/text/strv.h"
#include "runner/isorun.h"

/* A pattern of an allow list: a host name or IPv4 address in lower case, or "*." and a name, which
 * means every name below it and not the name itself. */
bool iso_egress_is_pattern(const char *text);

/*
 * Whether `allow` holds a pattern for `host`. Compared is the name as a resolver would see it: in
 * lower case, without a trailing dot. What is no plain name (control bytes, percent signs, another
 * spelling of an address) matches nothing.
 */
bool iso_egress_allows(const struct iso_strv *allow, const char *host);

/*
 * The host names in a command line: of URLs, user@host: and host:port words, and arguments of known
 * clients. Errors: ISO_ERR_NOMEM.
 */
int iso_egress_collect(const char *command, struct iso_strv *ret_hosts, struct iso_error *err);

/*
 * The verdict on a command line: 0, or -1 with ISO_ERR_DENIED "domain X is outside the egress
 * allowlist"; ISO_ERR_NOMEM. An empty list allows no name.
 */
int iso_egress_check(const struct iso_strv *allow, const char *command, struct iso_error *err);

#endif
