/*
 * A system call filter of the operator's, loaded behind the default one: the kernel takes the
 * stricter answer of both, so that it can only narrow. The file has the format of `linux.seccomp`
 * in the OCI runtime specification; docs/isorun.1 says which part of it.
 */
#ifndef ISORUN_SANDBOX_FILTER_SECCOMP_CUSTOM_H
#define ISORUN_SANDBOX_FILTER_SECCOMP_CUSTOM_H

#include <linux/filter.h>
#include <pthread.h>
#include <stddef.h>

#include "runner/base/digest.h"
#include "runner/isorun.h"

#define ISO_SECCOMP_CUSTOM_MAX 4096 /* instructions, the kernel's own limit */

/* A compiled filter; zeroed: none. */
struct iso_seccomp_custom {
	struct sock_filter *instructions; /* owned */
	size_t count;
	char profile_sha256[ISO_SHA256_HEX_SIZE]; /* of the text it was compiled from */
};

/*
 * Compile the profile `text`.
 *
 * what  for messages, such as `seccomp profile "tight.json"`
 *
 * Errors: ISO_ERR_INVALID names the place in the profile; ISO_ERR_SYSTEM, ISO_ERR_NOMEM.
 */
int iso_seccomp_custom_compile(const char *what, const char *text, size_t size,
			       struct iso_seccomp_custom *ret_filter, struct iso_error *err);

/* The filter that was compiled last: compiling takes milliseconds. Thread-safe but for init and
 * done. */
struct iso_seccomp_cache {
	pthread_mutex_t lock;
	struct iso_seccomp_custom last;
};
void iso_seccomp_cache_init(struct iso_seccomp_cache *ret_cache);
void iso_seccomp_cache_done(struct iso_seccomp_cache *cache);

/* As iso_seccomp_custom_compile, which is only asked when `cache` holds another one. The caller
 * owns the result. */
int iso_seccomp_cache_get(struct iso_seccomp_cache *cache, const char *what, const char *text,
			  size_t size, struct iso_seccomp_custom *ret_filter,
			  struct iso_error *err);

/* A zeroed value is fine. */
void iso_seccomp_custom_done(struct iso_seccomp_custom *filter);

#endif
