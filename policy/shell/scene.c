/*
 * Places are compared lexically, against the working directory as far as the line lets it be known.
 */
#include "policy/shell/scene.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/file/path.h"

#define PATH_SIZE ISO_SCENE_PATH_SIZE

bool iso_scene_is_one_of(const char *text, const char *const *list)
{
	for (; *list != NULL; list++) {
		if (strcmp(*list, text) == 0)
			return true;
	}
	return false;
}

bool iso_scene_matches_one(const char *text, const char *const *patterns)
{
	for (; *patterns != NULL; patterns++) {
		if (fnmatch(*patterns, text, 0) == 0)
			return true;
	}
	return false;
}

bool iso_scene_has_flag(const struct iso_scene *scene, const char *letters,
			const char *const *long_names)
{
	for (size_t i = scene->start + 1; i < scene->words->count; i++) {
		const char *word = scene->words->items[i].text;
		if (strcmp(word, "--") == 0)
			return false;
		if (word[0] == '-' && word[1] == '-' && iso_scene_is_one_of(word, long_names))
			return true;
		if (word[0] == '-' && word[1] != '-' && strpbrk(word + 1, letters) != NULL)
			return true;
	}
	return false;
}

/* Take "//", "/./" and "a/.." out of an absolute path, in place. */
static void collapse(char *path)
{
	char *out = path;
	for (const char *at = path; *at != '\0';) {
		at += strspn(at, "/");
		size_t length = strcspn(at, "/");
		if (length == 2 && strncmp(at, "..", 2) == 0) {
			while (out > path && *--out != '/')
				;
		} else if (length > 0 && !(length == 1 && *at == '.')) {
			*out++ = '/';
			memmove(out, at, length);
			out += length;
		}
		at += length;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
}

/* Where a word leads, as an absolute path without a trailing "*"; false: it cannot be told. */
bool iso_scene_resolve(const struct iso_scene *scene, const char *word, char ret_path[PATH_SIZE])
{
	size_t length = strlen(word);
	if (length + 2 >= PATH_SIZE)
		return false;
	if (*word == '/') {
		memcpy(ret_path, word, length + 1);
	} else if (strncmp(word, "$PWD", 4) == 0 || *word != '$') {
		const char *rest = *word == '$' ? word + 4 : word;
		if (scene->workdir == NULL)
			return false;
		int size = snprintf(ret_path, PATH_SIZE, "%s/%s", scene->workdir, rest);
		if (size < 0 || size >= PATH_SIZE)
			return false;
	} else {
		return false;
	}
	length = strlen(ret_path);
	while (length > 1 && strchr("*?.", ret_path[length - 1]) != NULL &&
	       (ret_path[length - 2] == '/' || strchr("*?.", ret_path[length - 2]) != NULL) &&
	       strcmp(ret_path + length - 2, "..") != 0)
		ret_path[--length] = '\0';
	collapse(ret_path);
	return true;
}

/* A home directory in one of its spellings, or all that is in it. */
bool iso_scene_is_home(const char *word)
{
	static const char *const homes[] = {"~",     "$HOME",	"~root", "/root",
					    "/home", "/home/*", NULL};
	static const char *const ends[] = {"/.*", "/*", "/"};
	char home[PATH_SIZE];
	size_t length = strlen(word);
	if (length == 0 || length >= sizeof(home))
		return false;
	memcpy(home, word, length + 1);
	for (size_t i = 0; i < ISO_COUNT(ends); i++) {
		size_t end = strlen(ends[i]);
		if (length > end && strcmp(home + length - end, ends[i]) == 0) {
			home[length - end] = '\0';
			break;
		}
	}
	for (size_t i = 0; homes[i] != NULL; i++) {
		if (fnmatch(homes[i], home, FNM_PATHNAME) == 0)
			return true;
	}
	return false;
}

enum iso_vital iso_scene_vital_place(const struct iso_scene *scene, const char *word)
{
	static const char *const system[] = {"/bin", "/boot", "/dev",  "/etc",	"/lib", "/lib64",
					     "/opt", "/proc", "/sbin", "/srv",	"/sys", "/usr",
					     "/var", "/run",  "/home", "/root", NULL};
	char path[PATH_SIZE];
	if (iso_scene_is_home(word))
		return ISO_VITAL_HOME;
	if (!iso_scene_resolve(scene, word, path))
		return ISO_VITAL_NONE;
	if (strcmp(path, "/") == 0)
		return ISO_VITAL_ROOT;
	if (strcmp(path, scene->root) == 0 || iso_path_is_beneath(scene->root, path))
		return ISO_VITAL_WORKSPACE;
	return iso_scene_is_one_of(path, system) ? ISO_VITAL_SYSTEM : ISO_VITAL_NONE;
}
