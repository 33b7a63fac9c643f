/* Letter case is that of ASCII: file systems that fold more of it still hold the built-in names. */
#include "policy/names.h"

#include <string.h>
#include <strings.h>

const char *const iso_private_names[] = {".git", ".ssh", ".aws", ".env", "private", ".cache", NULL};

#define ENVIRONMENT_FILES ".env."

bool iso_name_is_relative(const char *path)
{
	return *path != '\0' && *path != '/' && *path != '\\' && strchr(path, ':') == NULL;
}

static bool is_component(const char *name, const char *component, size_t length)
{
	return strlen(name) == length && strncasecmp(name, component, length) == 0;
}

static bool is_private(const char *component, size_t length, const struct iso_strv *more)
{
	size_t prefix = strlen(ENVIRONMENT_FILES);
	if (length >= prefix && strncasecmp(component, ENVIRONMENT_FILES, prefix) == 0)
		return true;
	for (size_t i = 0; iso_private_names[i] != NULL; i++) {
		if (is_component(iso_private_names[i], component, length))
			return true;
	}
	for (size_t i = 0; i < more->count; i++) {
		if (is_component(more->items[i], component, length))
			return true;
	}
	return false;
}

bool iso_name_is_private(const char *path, const struct iso_strv *more)
{
	for (const char *part = path + strspn(path, "/"); *part != '\0';) {
		size_t length = strcspn(part, "/");
		if (is_private(part, length, more))
			return true;
		part += length;
		part += strspn(part, "/");
	}
	return false;
}
