/* Vectors here are argument lists and environments: tens of entries, so they grow by one block. */
#include "runner/base/text/strv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW_COUNT 16

static int append_owned(struct iso_strv *strv, char *text)
{
	if (text == NULL)
		return -1;
	if (strv->items == NULL || (strv->count + 1) % GROW_COUNT == 0) {
		size_t capacity = (strv->count + 1) / GROW_COUNT * GROW_COUNT + GROW_COUNT;
		char **grown = reallocarray(strv->items, capacity, sizeof(*grown));
		if (grown == NULL) {
			free(text);
			return -1;
		}
		strv->items = grown;
	}
	strv->items[strv->count++] = text;
	strv->items[strv->count] = NULL;
	return 0;
}

int iso_strv_add(struct iso_strv *strv, const char *text)
{
	return append_owned(strv, strdup(text));
}

char *iso_strf(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	return length < 0 ? NULL : text;
}

int iso_strv_addf(struct iso_strv *strv, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	return append_owned(strv, length < 0 ? NULL : text);
}

static size_t find_index(const struct iso_strv *strv, const char *name, size_t length)
{
	size_t index = 0;
	while (index < strv->count) {
		const char *item = strv->items[index];
		if (strncmp(item, name, length) == 0 && item[length] == '=')
			break;
		index++;
	}
	return index;
}

const char *iso_strv_find_variable(const struct iso_strv *strv, const char *name)
{
	size_t index = find_index(strv, name, strlen(name));
	return index < strv->count ? strv->items[index] : NULL;
}

int iso_strv_set_variable(struct iso_strv *strv, const char *assignment)
{
	size_t index = find_index(strv, assignment, strcspn(assignment, "="));
	if (index == strv->count)
		return iso_strv_add(strv, assignment);
	char *copy = strdup(assignment);
	if (copy == NULL)
		return -1;
	free(strv->items[index]);
	strv->items[index] = copy;
	return 0;
}

bool iso_strv_holds(const struct iso_strv *strv, const char *text)
{
	for (size_t i = 0; i < strv->count; i++) {
		if (strcmp(strv->items[i], text) == 0)
			return true;
	}
	return false;
}

char *iso_strv_join(const struct iso_strv *strv, const char *separator)
{
	size_t size = 1;
	for (size_t i = 0; i < strv->count; i++)
		size += strlen(strv->items[i]) + strlen(separator);
	char *text = malloc(size);
	if (text == NULL)
		return NULL;
	char *end = text;
	*end = '\0';
	for (size_t i = 0; i < strv->count; i++)
		end = stpcpy(stpcpy(end, strv->items[i]), separator);
	return text;
}

void iso_strv_done(struct iso_strv *strv)
{
	for (size_t i = 0; i < strv->count; i++)
		free(strv->items[i]);
	free(strv->items);
	*strv = (struct iso_strv){0};
}
