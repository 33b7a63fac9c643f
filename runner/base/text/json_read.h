/*
 * Strict reading of JSON (RFC 8259) into cJSON trees. cJSON's own parser is lenient and keeps
 * numbers as doubles; this one refuses what is not JSON, duplicate names, bytes behind the value,
 * invalid UTF-8 and NUL in strings, and keeps each number as its text (cJSON_IsRaw).
 *
 * Every refusal reads `read WHAT: PATH: reason` with a path such as $.limits.pids or $.args[2].
 */
#ifndef ISORUN_BASE_TEXT_JSON_READ_H
#define ISORUN_BASE_TEXT_JSON_READ_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/isorun.h"

#define ISO_JSON_DEPTH_MAX  32
#define ISO_JSON_SIZE_MAX   ((size_t)1 << 20)
#define ISO_JSON_MEMBER_MAX 10000 /* of one object or array */

/*
 * Parse one document.
 *
 * what  for messages, such as `policy "ci.json"`
 *
 * The caller owns the tree (cJSON_Delete). Errors: ISO_ERR_INVALID, ISO_ERR_NOMEM.
 */
int iso_json_parse(const char *what, const char *text, size_t size, cJSON **ret_root,
		   struct iso_error *err);

/* A value and where it stands. Parents and names are borrowed and outlive it. */
struct iso_json_at {
	const char *what;
	const cJSON *value; /* NULL: not there */
	const struct iso_json_at *parent;
	const char *name; /* NULL: an item of an array, at `index` */
	size_t index;
};

struct iso_json_at iso_json_root(const char *what, const cJSON *root);
struct iso_json_at iso_json_member(const struct iso_json_at *object, const char *name);
struct iso_json_at iso_json_item(const struct iso_json_at *array, size_t index);

/* Refuse the value: always -1. */
int iso_json_refuse(const struct iso_json_at *at, struct iso_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* It is an object with no members but the `known` ones (NULL-terminated; NULL: any). */
int iso_json_object(const struct iso_json_at *at, const char *const *known, struct iso_error *err);

/* It is an array; `ret_count` items. */
int iso_json_array(const struct iso_json_at *at, size_t *ret_count, struct iso_error *err);

/* Scalars; each refuses other types. Strings are borrowed from the tree. */
int iso_json_text(const struct iso_json_at *at, const char **ret_text, struct iso_error *err);
int iso_json_bool(const struct iso_json_at *at, bool *ret_value, struct iso_error *err);
/* A whole number within [minimum, maximum], written without fraction and exponent. */
int iso_json_whole(const struct iso_json_at *at, uint64_t minimum, uint64_t maximum,
		   uint64_t *ret_value, struct iso_error *err);
/* A positive number of seconds, to the millisecond. */
int iso_json_seconds(const struct iso_json_at *at, uint64_t *ret_ms, struct iso_error *err);

#endif
