/*
 * What launches of an engine have in common, mounted once: a mount namespace with everything of the
 * plan's file system that no run can write to and that no run has for itself. A launch enters it,
 * takes a copy and adds its own mounts, instead of copying the host's mount table and mounting it
 * all. See docs/decisions/010-mount-templates.md.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_TEMPLATE_H
#define ISORUN_SANDBOX_LAUNCH_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/child/child.h"
#include "sandbox/plan.h"

#define ISO_TEMPLATE_CACHE_SIZE 4

struct iso_template {
	char *key; /* owned; the operations that made it, as bytes */
	size_t key_size;
	int namespace_fd; /* owned */
};

/* One owner, not thread-safe. A zeroed cache is fine. */
struct iso_template_cache {
	bool wanted;  /* set by the owner: there will be more launches than one */
	bool refused; /* this host has none */
	struct iso_template entries[ISO_TEMPLATE_CACHE_SIZE];
	unsigned int count; /* all that were ever made; the oldest is replaced */
	char *last_key;	    /* owned; of the launch before, for which none was worth while yet */
	size_t last_key_size;
	bool watches_host;
	int host_mounts_fd; /* owned while `watches_host`; says when the host's mounts change */
};

/*
 * Look for a template for the child's operations and, when the same ones come a second time, make
 * it. Templates that the host's mounts have outrun are dropped.
 *
 * child         as prepared for a launch without a template; stays as it is
 * ret_fd        borrowed from the cache until the next call: the namespace to enter
 * ret_is_common owned by the caller (free): for each operation whether the template holds it
 *
 * Returns whether there is one. Nothing is an error: a launch does well without.
 */
bool iso_template_find(struct iso_template_cache *cache, const struct iso_child *child, int *ret_fd,
		       bool **ret_is_common);

/* Release everything. */
void iso_template_cache_done(struct iso_template_cache *cache);

#endif
