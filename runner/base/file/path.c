/* A path is a list of components between slashes; every function is one walk over it. */
#include "runner/base/file/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool iso_path_is_normal(const char *path)
{
	if (strcmp(path, "/") == 0)
		return true;
	if (*path != '/')
		return false;
	while (*path == '/') {
		const char *component = path + 1;
		size_t length = strcspn(component, "/");
		if (length == 0 || (length == 1 && component[0] == '.') ||
		    (length == 2 && component[0] == '.' && component[1] == '.'))
			return false;
		path = component + length;
	}
	return true;
}

bool iso_path_is_beneath(const char *path, const char *root)
{
	size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
	return strncmp(path, root, length) == 0 &&
	       (length == 0 || path[length] == '/' || path[length] == '\0');
}

char *iso_path_normalise(const char *path)
{
	if (*path != '/') {
		errno = EINVAL;
		return NULL;
	}
	char *normal = malloc(strlen(path) + 2);
	if (normal == NULL)
		return NULL;
	char *end = normal;
	while (*path != '\0') {
		path += strspn(path, "/");
		size_t length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.') {
			free(normal);
			errno = EINVAL;
			return NULL;
		}
		if (length > 0 && !(length == 1 && path[0] == '.')) {
			*end++ = '/';
			memcpy(end, path, length);
			end += length;
		}
		path += length;
	}
	if (end == normal)
		*end++ = '/';
	*end = '\0';
	return normal;
}

const char *iso_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

char *iso_path_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (slash == NULL)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}
