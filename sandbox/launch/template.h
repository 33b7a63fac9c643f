/*
 * What launches of an engine have in common, mounted once: a mount namespace with everything of the
 * plan's file system that no run can write to and that no run has for itself. A launch enters it,
 * takes a copy and adds its own mounts, instead of copying the host's mount table and mounting it
 * all. See docs/decisions/010-mount-templates.md.
 */
#ifndef ISORUN_SANDBOX_LAUNCH_TEMPLATE_H
#define ISORUN_SANDBOX_LAUNCH_TEMPLATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/child/child.h"

#define ISO_TEMPLATE_CACHE_SIZE 4

struct iso_template {
	char *key; /* owned; the operations that made it, as bytes */
	size_t key_size;
	int namespace_fd;   /* owned */
	unsigned int users; /* the cache is one */
};

/* Thread-safe but for init and done. */
struct iso_template_cache {
	atomic_bool wanted;   /* there will be more launches than one */
	pthread_mutex_t lock; /* of all that follows, `users` included; held for moments only */
	bool making;	      /* somebody makes one, without the lock */
	unsigned int outrun_count; /* how often the host's mounts have changed */
	int64_t refused_until_ns;  /* monotonic; one could not be made */
	struct iso_template *entries[ISO_TEMPLATE_CACHE_SIZE]; /* owned */
	unsigned int count; /* all that were ever made; the oldest is replaced */
	char *last_key;	    /* owned; of the launch before, for which none was worth while yet */
	size_t last_key_size;
	int host_mounts_fd; /* owned, or -1; says when the host's mounts change */
};

void iso_template_cache_init(struct iso_template_cache *ret_cache);

/* From now on templates are worth while: where one run has been, others come. */
void iso_template_cache_want(struct iso_template_cache *cache);

/*
 * Look for a template for the child's operations and, when the same ones come a second time, make
 * it. Templates that the host's mounts have outrun are dropped.
 *
 * child         as prepared for a launch without a template; stays as it is
 * ret_template  lasts until iso_template_put, whatever the cache does meanwhile
 * ret_is_common owned by the caller (free): for each operation whether the template holds it
 *
 * Returns whether there is one. Nothing is an error: a launch does well without.
 */
bool iso_template_find(struct iso_template_cache *cache, const struct iso_child *child,
		       struct iso_template **ret_template, bool **ret_is_common);
void iso_template_put(struct iso_template_cache *cache, struct iso_template *template);

/* Release everything; nobody uses a template any more. */
void iso_template_cache_done(struct iso_template_cache *cache);

#endif
