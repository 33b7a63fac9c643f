/*
 * What the rules of the precheck look at: one simple command where it stands, and where its words
 * lead. Part of policy/shellcheck.c.
 */
#ifndef ISORUN_POLICY_SHELL_SCENE_H
#define ISORUN_POLICY_SHELL_SCENE_H

#include "policy/words.h"

#define ISO_SCENE_PATH_SIZE 4096

struct iso_scene {
	const struct iso_line *line;
	size_t index; /* of the simple command */
	const struct iso_strv *words;
	size_t start;	  /* of the command proper */
	const char *base; /* its name without directories, or "" */
	const char *root;
	const char *workdir; /* followed through cd, or NULL when that is not known */
};

/* Whether `text` is in the NULL-terminated list, or matches one of its patterns (fnmatch). */
bool iso_scene_is_one_of(const char *text, const char *const *list);
bool iso_scene_matches_one(const char *text, const char *const *patterns);

/* Whether the command has one of the option letters or long options. */
bool iso_scene_has_flag(const struct iso_scene *scene, const char *letters,
			const char *const *long_names);

/* Where a word leads, as an absolute path without a trailing "*"; false: it cannot be told. */
bool iso_scene_resolve(const struct iso_scene *scene, const char *word,
		       char ret_path[ISO_SCENE_PATH_SIZE]);

/* A home directory in one of its spellings, or all that is in it. */
bool iso_scene_is_home(const char *word);

/* "/", "~", "the workspace root" or "a system directory" where the word means that, else NULL. */
const char *iso_scene_vital_place(const struct iso_scene *scene, const char *word);

#endif
