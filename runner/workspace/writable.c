/*
 * A link that leads out of such a place would hand host directories to the next run (`--rw ./out`
 * after something has replaced "out"), so from there on the kernel keeps the walk beneath it.
 */
#include "runner/workspace/writable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/base/file/patient.h"
#include "runner/base/text/strv.h"

/* Whether the words of the relative `path` lead out of where it starts, links aside. */
static bool climbs_out(const char *path)
{
	for (int depth = 0; *path != '\0';) {
		path += strspn(path, "/");
		size_t length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.')
			depth--;
		else if (length > 0 && !(length == 1 && path[0] == '.'))
			depth++;
		if (depth < 0)
			return true;
		path += length;
	}
	return false;
}

/* What is left of the absolute `path` once it has come to the directory `place` to stay there, or
 * NULL, with errno ETIMEDOUT when a file system on the way does not answer. `path` is written to
 * meanwhile. */
static const char *rest_inside(char *path, const struct iso_named_path *place)
{
	for (char *end = path + 1;; end++) {
		struct stat st;
		end += strcspn(end, "/");
		char saved = *end;
		*end = '\0';
		ISO_AUTO_CLOSE int fd = iso_patient_open(path, 0, NULL, &st);
		bool is_it = fd >= 0 && st.st_dev == place->dev && st.st_ino == place->ino;
		*end = saved;
		if (is_it && !climbs_out(end))
			return end + strspn(end, "/");
		bool timed_out = fd < 0 && errno == ETIMEDOUT;
		if (saved == '\0' || timed_out) {
			errno = timed_out ? ETIMEDOUT : 0;
			return NULL;
		}
	}
}

/* An absolute copy of `path` that the caller frees, not resolved in any way; NULL with errno. */
static char *make_absolute(const char *path)
{
	char here[PATH_MAX];
	if (*path == '/')
		return strdup(path);
	return getcwd(here, sizeof(here)) == NULL ? NULL : iso_strf("%s/%s", here, path);
}

int iso_writable_add(struct iso_writable *writable, struct iso_named_path *place, const char *named,
		     struct iso_error *err)
{
	char *copy = strdup(named);
	if (copy == NULL ||
	    !iso_array_grow(&writable->places, writable->count, sizeof(*writable->places)) ||
	    !iso_array_grow(&writable->names, writable->count, sizeof(*writable->names))) {
		free(copy);
		iso_named_path_done(place);
		return iso_error_nomem(err);
	}
	writable->places[writable->count] = *place;
	writable->names[writable->count++] = copy;
	*place = (struct iso_named_path){.fd = -1};
	return 0;
}

int iso_writable_add_mounts(struct iso_writable *writable, const struct iso_mount *mounts,
			    size_t count, struct iso_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct iso_named_path source;
		if (mounts[i].kind == ISO_MOUNT_RW && mounts[i].source != NULL &&
		    iso_named_path_open(mounts[i].source, "the mount source", &source, NULL) == 0 &&
		    iso_writable_add(writable, &source, mounts[i].source, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_same(const struct iso_named_path *one, const struct iso_named_path *other)
{
	return one->dev == other->dev && one->ino == other->ino;
}

static int refuse_link(const char *what, const char *path, const struct iso_named_path *place,
		       struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_DENIED, 0,
		      "open %s \"%s\": a link there is absolute or leads out of \"%s\"", what, path,
		      place->path);
	return iso_error_hint(err, "a command that ran there can have put it there; if it is "
				   "meant, name where it leads");
}

/* Open what is called `absolute`, from `place` on, where `rest` is left to go. */
static int open_from(const struct iso_named_path *place, const char *rest, struct stat *ret_st)
{
	if (*rest != '\0')
		return iso_patient_open_beneath(place->fd, rest, NULL, ret_st);
	*ret_st = (struct stat){.st_dev = place->dev, .st_ino = place->ino};
	return fcntl(place->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int iso_writable_check(const struct iso_writable *writable, struct iso_error *err)
{
	for (size_t i = 0; i < writable->count; i++) {
		const struct iso_named_path *place = &writable->places[i];
		ISO_AUTO_FREE char *absolute = make_absolute(writable->names[i]);
		if (absolute == NULL)
			return iso_error_set(err, ISO_ERR_INVALID, errno, "open \"%s\"",
					     writable->names[i]);
		for (size_t j = 0; j < writable->count; j++) {
			const struct iso_named_path *other = &writable->places[j];
			const char *rest =
				is_same(place, other) ? NULL : rest_inside(absolute, other);
			struct stat st;
			ISO_AUTO_CLOSE int fd = rest != NULL ? open_from(other, rest, &st) : -1;
			if (rest != NULL &&
			    (fd < 0 || st.st_dev != place->dev || st.st_ino != place->ino))
				return refuse_link("the writable directory", writable->names[i],
						   other, err);
		}
	}
	return 0;
}

int iso_writable_open_beside(const struct iso_writable *writable, const char *path,
			     const char *what, struct iso_named_path *ret_named,
			     struct iso_error *err)
{
	ISO_AUTO_FREE char *absolute = make_absolute(path);
	if (absolute == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "open %s \"%s\"", what, path);
	for (size_t i = 0; i < writable->count && *path != '\0'; i++) {
		const struct iso_named_path *place = &writable->places[i];
		const char *rest = rest_inside(absolute, place);
		if (rest == NULL && errno == ETIMEDOUT)
			return iso_named_path_refuse(path, what, err);
		if (rest == NULL)
			continue;
		struct stat st;
		ISO_AUTO_CLOSE int fd = open_from(place, rest, &st);
		if (fd < 0 && errno == EXDEV)
			return refuse_link(what, path, place, err);
		if (fd < 0)
			return iso_named_path_refuse(path, what, err);
		return iso_named_path_of(fd, path, what, ret_named, err);
	}
	return iso_named_path_open(path, what, ret_named, err);
}

const struct iso_named_path *iso_writable_holds_name(const struct iso_writable *writable,
						     const char *path)
{
	ISO_AUTO_FREE char *absolute = make_absolute(path);
	for (size_t i = 0; i < writable->count; i++) {
		if (absolute == NULL || rest_inside(absolute, &writable->places[i]) != NULL)
			return &writable->places[i];
	}
	return NULL;
}

const struct iso_named_path *iso_writable_holds(const struct iso_writable *writable,
						const char *path)
{
	for (size_t i = 0; writable->places != NULL && i < writable->count; i++) {
		const struct iso_named_path *place = &writable->places[i];
		if (iso_path_is_beneath(path, place->path))
			return place;
	}
	return NULL;
}

/* The place in which another name of `file` can lie, so that a payload can write it; or NULL. */
static const struct iso_named_path *can_hold_a_link(const struct iso_writable *writable,
						    const struct iso_named_path *file)
{
	if (!S_ISREG(file->mode) || file->nlink < 2 || writable->places == NULL)
		return NULL;
	for (size_t i = 0; i < writable->count; i++) {
		const struct iso_named_path *place = &writable->places[i];
		if (place->dev == file->dev && place->uid == file->uid)
			return place;
	}
	return NULL;
}

int iso_writable_refuse(const struct iso_writable *writable, const char *named,
			const struct iso_named_path *found, const char *what, struct iso_error *err)
{
	const struct iso_named_path *place = iso_writable_holds_name(writable, named);
	if (place == NULL && found != NULL)
		place = iso_writable_holds(writable, found->path);
	if (place != NULL) {
		const char *kind =
			place == &writable->places[0] ? "the workspace" : "a writable mount";
		iso_error_set(err, ISO_ERR_INVALID, 0,
			      "use %s \"%s\": it lies in %s, where a command may have written it",
			      what, named, kind);
		return iso_error_hint(err, "keep it outside of \"%s\"", place->path);
	}
	place = found != NULL ? can_hold_a_link(writable, found) : NULL;
	if (place == NULL)
		return 0;
	iso_error_set(err, ISO_ERR_INVALID, 0,
		      "use %s \"%s\": it has another name as well, which may lie where a command "
		      "can write it",
		      what, named);
	return iso_error_hint(err, "give it one name only, or another owner than \"%s\" has",
			      place->path);
}

void iso_writable_done(struct iso_writable *writable)
{
	for (size_t i = 0; i < writable->count; i++) {
		iso_named_path_done(&writable->places[i]);
		free(writable->names[i]);
	}
	free(writable->places);
	free(writable->names);
	*writable = (struct iso_writable){0};
}
