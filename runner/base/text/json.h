/*
 * Building JSON with cJSON. A builder remembers the first failed allocation, so that a long list of
 * additions needs one check, at iso_json_end. 64-bit integers never pass through a double.
 */
#ifndef ISORUN_BASE_TEXT_JSON_H
#define ISORUN_BASE_TEXT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "runner/isorun.h"

struct iso_json {
	bool failed; /* an allocation failed; later additions do nothing */
};

/* Start a document: its root object, or NULL (with `failed` set) when out of memory. */
cJSON *iso_json_begin(struct iso_json *json);

/* Members are appended in call order. `object` may be NULL once the builder has failed. Text must
 * be valid UTF-8 or is made so by replacement; NULL text becomes null. */
void iso_json_add_text(struct iso_json *json, cJSON *object, const char *name, const char *text);
void iso_json_add_u64(struct iso_json *json, cJSON *object, const char *name, uint64_t value);
void iso_json_add_i64(struct iso_json *json, cJSON *object, const char *name, int64_t value);
/* A number; ISO_UNLIMITED, ISO_DEFAULT and what is not known (UINT64_MAX) become null. */
void iso_json_add_limit(struct iso_json *json, cJSON *object, const char *name, uint64_t value);
/* `thousandths` / 1000 as a decimal fraction with three places. */
void iso_json_add_thousandths(struct iso_json *json, cJSON *object, const char *name,
			      int64_t thousandths);
void iso_json_add_bool(struct iso_json *json, cJSON *object, const char *name, bool value);
void iso_json_add_null(struct iso_json *json, cJSON *object, const char *name);
/* A vector of strings (NULL-terminated, or NULL for an empty one). */
void iso_json_add_strv(struct iso_json *json, cJSON *object, const char *name, char *const *items);
/* An empty object or array to fill, or NULL. */
cJSON *iso_json_add_object(struct iso_json *json, cJSON *object, const char *name);
cJSON *iso_json_add_array(struct iso_json *json, cJSON *object, const char *name);
cJSON *iso_json_append_object(struct iso_json *json, cJSON *array);
void iso_json_append_text(struct iso_json *json, cJSON *array, const char *text);

/* Start a document that is an array. */
cJSON *iso_json_begin_array(struct iso_json *json);

/* `value` as canonical text that the caller frees: names sorted by their bytes, no white space. */
int iso_json_canonical(const cJSON *value, char **ret_text, struct iso_error *err);

/* End the document as a tree that the caller deletes. */
int iso_json_end_tree(struct iso_json *json, cJSON *root, cJSON **ret_root, struct iso_error *err);

/* Print the document without white space into text that the caller frees, and delete the tree. */
int iso_json_end(struct iso_json *json, cJSON *root, char **ret_text, struct iso_error *err);

#endif
