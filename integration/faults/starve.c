/*
 * The allocator of build/isorun-starved, which is isorun linked with it (--wrap=malloc and so on):
 * of all allocations the one that ISORUN_STARVE counts to fails, counted from 1; with a "+" behind
 * the number all later ones fail, too. ISORUN_STARVE=0 says at the end how many there were.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static unsigned long made, failing;
static bool all_later, telling;

static void __attribute__((constructor)) read_orders(void)
{
	const char *orders = getenv("ISORUN_STARVE");
	failing = orders != NULL ? strtoul(orders, NULL, 10) : 0;
	all_later = orders != NULL && strchr(orders, '+') != NULL;
	telling = orders != NULL && failing == 0;
}

static void __attribute__((destructor)) tell(void)
{
	if (telling)
		fprintf(stderr, "allocations: %lu\n", made);
}

/* Threads may count one another's: the snapshot's workers do, and any of theirs may be the one. */
static bool refuses(void)
{
	unsigned long number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	if (failing == 0 || (number != failing && !(all_later && number > failing)))
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refuses() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return refuses() ? NULL : __real_aligned_alloc(alignment, size);
}
