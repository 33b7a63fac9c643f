/* Names that callers give (PATH): judged as words, here, and as places when they are opened. */
#ifndef ISORUN_POLICY_NAMES_H
#define ISORUN_POLICY_NAMES_H

#include <stdbool.h>

#include "runner/base/text/strv.h"

/* PATH-1: relative, not empty, and without a colon, which drive prefixes have. */
bool iso_name_is_relative(const char *path);

/* PATH-3: whether a component of `path` is private, in any letter case: one of the built-in names,
 * or one of `more`. */
bool iso_name_is_private(const char *path, const struct iso_strv *more);

/* The built-in private names, NULL-terminated; ".env." stands for everything that starts so. */
extern const char *const iso_private_names[];

#endif
