/* NULL-terminated vectors of owned strings, grown one at a time. Not shared between threads. */
#ifndef ISORUN_BASE_TEXT_STRV_H
#define ISORUN_BASE_TEXT_STRV_H

#include <stdbool.h>
#include <stddef.h>

struct iso_strv {
	char **items; /* owned, NULL-terminated; NULL while empty */
	size_t count;
};

/* Append a copy of `text`; 0, or -1 when out of memory (the vector is unchanged). */
int iso_strv_add(struct iso_strv *strv, const char *text);

/* As iso_strv_add, from a printf format. */
int iso_strv_addf(struct iso_strv *strv, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The first item that starts with "NAME=", or NULL. */
const char *iso_strv_find_variable(const struct iso_strv *strv, const char *name);

/* Replace the item "NAME=…" by `assignment` ("NAME=VALUE") or append it; 0, or -1: no memory. */
int iso_strv_set_variable(struct iso_strv *strv, const char *assignment);

/* Whether one of the items is `text`. */
bool iso_strv_holds(const struct iso_strv *strv, const char *text);

/* The items, each followed by `separator`, as one fresh string; NULL: no memory. */
char *iso_strv_join(const struct iso_strv *strv, const char *separator);

/* Free everything; a zeroed vector is fine. */
void iso_strv_done(struct iso_strv *strv);

/* A fresh string from a printf format (asprintf without the trap of its result); NULL: no memory */
char *iso_strf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
