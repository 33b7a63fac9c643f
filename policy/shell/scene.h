/*
 * What the rules of the precheck look at: one simple command where it stands, and where its words
 * lead. Part of policy/shell/shellcheck.c.
 */
#ifndef ISORUN_POLICY_SHELL_SCENE_H
#define ISORUN_POLICY_SHELL_SCENE_H

#include "policy/shell/words.h"

#define ISO_SCENE_PATH_SIZE 4096

struct iso_scene {
	const struct iso_line *line;
	size_t index; /* of the simple command */
	const struct iso_words *words;
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

/* What nobody removes, hands out or chowns whole without wanting harm. */
enum iso_vital {
	ISO_VITAL_NONE = 0,
	ISO_VITAL_ROOT,
	ISO_VITAL_HOME,
	ISO_VITAL_WORKSPACE, /* its root, or what that lies in */
	ISO_VITAL_SYSTEM,    /* a system directory */
};

/* Which of these a word means. */
enum iso_vital iso_scene_vital_place(const struct iso_scene *scene, const char *word);

#endif
