/*
 * cJSON keeps numbers as doubles; integers are therefore added as raw text. Every cJSON_Add…
 * function accepts a NULL object and answers NULL, which is how one failure carries to the end.
 */
#include "runner/base/text/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/text/utf8.h"

static cJSON *note(struct iso_json *json, cJSON *item)
{
	if (item == NULL)
		json->failed = true;
	return item;
}

/* A string value, valid UTF-8 whatever `text` is. */
static cJSON *new_text(struct iso_json *json, const char *text)
{
	if (text == NULL)
		return note(json, cJSON_CreateNull());
	size_t length = strlen(text);
	if (iso_utf8_is_text((const uint8_t *)text, length))
		return note(json, cJSON_CreateString(text));
	ISO_AUTO_FREE char *replaced = iso_utf8_replace((const uint8_t *)text, length);
	return note(json, replaced == NULL ? NULL : cJSON_CreateString(replaced));
}

/* Hand `item` to `object`; on failure it is freed here. */
static void attach(struct iso_json *json, cJSON *object, const char *name, cJSON *item)
{
	if (item == NULL)
		return;
	if (!cJSON_AddItemToObject(object, name, item)) {
		cJSON_Delete(item);
		json->failed = true;
	}
}

cJSON *iso_json_begin_array(struct iso_json *json)
{
	*json = (struct iso_json){.failed = false};
	return note(json, cJSON_CreateArray());
}

cJSON *iso_json_begin(struct iso_json *json)
{
	json->failed = false;
	return note(json, cJSON_CreateObject());
}

void iso_json_add_text(struct iso_json *json, cJSON *object, const char *name, const char *text)
{
	attach(json, object, name, new_text(json, text));
}

void iso_json_add_u64(struct iso_json *json, cJSON *object, const char *name, uint64_t value)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	note(json, cJSON_AddRawToObject(object, name, digits));
}

void iso_json_add_i64(struct iso_json *json, cJSON *object, const char *name, int64_t value)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%" PRId64, value);
	note(json, cJSON_AddRawToObject(object, name, digits));
}

void iso_json_add_thousandths(struct iso_json *json, cJSON *object, const char *name,
			      int64_t thousandths)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%" PRId64 ".%03d", thousandths / 1000,
		 (int)(thousandths % 1000));
	note(json, cJSON_AddRawToObject(object, name, digits));
}

void iso_json_add_limit(struct iso_json *json, cJSON *object, const char *name, uint64_t value)
{
	if (value == ISO_UNLIMITED || value == ISO_DEFAULT)
		iso_json_add_null(json, object, name);
	else
		iso_json_add_u64(json, object, name, value);
}

void iso_json_add_bool(struct iso_json *json, cJSON *object, const char *name, bool value)
{
	note(json, cJSON_AddBoolToObject(object, name, value));
}

void iso_json_add_null(struct iso_json *json, cJSON *object, const char *name)
{
	note(json, cJSON_AddNullToObject(object, name));
}

void iso_json_append_text(struct iso_json *json, cJSON *array, const char *text)
{
	cJSON *item = new_text(json, text);
	if (item != NULL && !cJSON_AddItemToArray(array, item)) {
		cJSON_Delete(item);
		json->failed = true;
	}
}

void iso_json_add_strv(struct iso_json *json, cJSON *object, const char *name, char *const *items)
{
	cJSON *array = note(json, cJSON_AddArrayToObject(object, name));
	for (; items != NULL && *items != NULL && array != NULL; items++)
		iso_json_append_text(json, array, *items);
}

cJSON *iso_json_add_object(struct iso_json *json, cJSON *object, const char *name)
{
	return note(json, cJSON_AddObjectToObject(object, name));
}

cJSON *iso_json_add_array(struct iso_json *json, cJSON *object, const char *name)
{
	return note(json, cJSON_AddArrayToObject(object, name));
}

cJSON *iso_json_append_object(struct iso_json *json, cJSON *array)
{
	cJSON *object = note(json, cJSON_CreateObject());
	if (object != NULL && !cJSON_AddItemToArray(array, object)) {
		cJSON_Delete(object);
		json->failed = true;
		return NULL;
	}
	return object;
}

int iso_json_end_tree(struct iso_json *json, cJSON *root, cJSON **ret_root, struct iso_error *err)
{
	if (json->failed) {
		cJSON_Delete(root);
		return iso_error_nomem(err);
	}
	*ret_root = root;
	return 0;
}

int iso_json_end(struct iso_json *json, cJSON *root, char **ret_text, struct iso_error *err)
{
	char *text = json->failed ? NULL : cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (text == NULL)
		return iso_error_nomem(err);
	*ret_text = text;
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	const cJSON *const *a = left, *const *b = right;
	return strcmp((*a)->string, (*b)->string);
}

/* Sort the members of every object below `value`, in place; 0, or -1: out of memory. */
static int sort_members(cJSON *value)
{
	int count = cJSON_GetArraySize(value);
	cJSON *item;
	cJSON_ArrayForEach(item, value)
	{
		if (sort_members(item) < 0)
			return -1;
	}
	if (!cJSON_IsObject(value) || count < 2)
		return 0;
	cJSON **items = calloc((size_t)count, sizeof(cJSON *));
	if (items == NULL)
		return -1;
	int next = 0;
	cJSON_ArrayForEach(item, value) items[next++] = item;
	qsort(items, (size_t)count, sizeof(cJSON *), compare_names);
	for (int i = 0; i < count; i++) {
		items[i]->next = i + 1 < count ? items[i + 1] : NULL;
		items[i]->prev = i > 0 ? items[i - 1] : items[count - 1];
	}
	value->child = items[0];
	free(items);
	return 0;
}

int iso_json_canonical(const cJSON *value, char **ret_text, struct iso_error *err)
{
	cJSON *copy = cJSON_Duplicate(value, true);
	char *text = NULL;
	if (copy != NULL && sort_members(copy) == 0)
		text = cJSON_PrintUnformatted(copy);
	cJSON_Delete(copy);
	if (text == NULL)
		return iso_error_nomem(err);
	*ret_text = text;
	return 0;
}
