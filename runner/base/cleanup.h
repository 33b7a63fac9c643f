/*
 * Scope-bound release of descriptors and memory (GNU cleanup attribute), and the two "take" macros
 * that hand a resource out of its scope.
 */
#ifndef ISORUN_BASE_CLEANUP_H
#define ISORUN_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void iso_cleanup_close(int *fd)
{
	if (*fd >= 0)
		(void)close(
			*fd); /* a failed close of a descriptor we only read or already synced */
}

static inline void iso_cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

#define ISO_CLEANUP(function) __attribute__((cleanup(function)))
#define ISO_AUTO_CLOSE	      ISO_CLEANUP(iso_cleanup_close)
#define ISO_AUTO_FREE	      ISO_CLEANUP(iso_cleanup_free)

/* The value of `fd`, which from here on owns nothing. */
#define ISO_TAKE_FD(fd)                \
	__extension__({                \
		int iso_taken_ = (fd); \
		(fd) = -1;             \
		iso_taken_;            \
	})

/* The value of `pointer`, which from here on owns nothing. */
#define ISO_TAKE_PTR(pointer)                               \
	__extension__({                                     \
		__typeof__(pointer) iso_taken_ = (pointer); \
		(pointer) = NULL;                           \
		iso_taken_;                                 \
	})

#endif
