/*
 * This thread's mask of blocked signals as the kernel has it. What a libc keeps for itself is left
 * out of its own functions, in both directions: they neither block it nor restore it.
 */
#ifndef ISORUN_BASE_SIGMASK_H
#define ISORUN_BASE_SIGMASK_H

#include <stdint.h>

#define ISO_SIGMASK_ALL UINT64_MAX

/* One signal (1 to 64) as a mask. */
static inline uint64_t iso_sigmask_of(int number)
{
	return UINT64_C(1) << (number - 1);
}

/* Block `mask`, too. Returns the mask before, for iso_sigmask_restore. */
uint64_t iso_sigmask_block(uint64_t mask);
void iso_sigmask_restore(uint64_t saved);

#endif
