/*
 * What operators name is theirs to name, links included. What lies in the workspace was in the
 * hands of whoever ran there before: a link that leads out of it would hand host directories to the
 * next run (`--rw ./out` after something has replaced "out"), so from there on the kernel keeps the
 * walk beneath the workspace.
 */
#include "runner/workspace/named_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/beneath.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"
#include "runner/base/file/reopen.h"
#include "runner/base/text/strv.h"

/* From the descriptor `fd`, taken over, of what `path` named. */
static int name(int fd, const char *path, const char *what, struct iso_named_path *ret_named,
		struct iso_error *err)
{
	ISO_AUTO_CLOSE int owned_fd = iso_fd_above_stdio(fd);
	struct stat st;
	if (owned_fd < 0 || fstat(owned_fd, &st) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "open %s \"%s\"", what, path);
	char canonical[PATH_MAX];
	if (iso_reopen_path(owned_fd, canonical, sizeof(canonical)) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "find the path of %s \"%s\"",
				     what, path);
	if (!iso_path_is_normal(canonical) || st.st_nlink == 0)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "find the path of %s \"%s\": it was deleted, or lies outside "
				     "this process's root",
				     what, path);
	char *copy = strdup(canonical);
	if (copy == NULL)
		return iso_error_nomem(err);
	*ret_named = (struct iso_named_path){
		.fd = ISO_TAKE_FD(owned_fd),
		.path = copy,
		.mode = st.st_mode,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	return 0;
}

int iso_named_path_open(const char *path, const char *what, struct iso_named_path *ret_named,
			struct iso_error *err)
{
	if (*path == '\0')
		return iso_error_set(err, ISO_ERR_INVALID, 0, "open %s: its name is empty", what);
	return name(open(path, O_PATH | O_CLOEXEC), path, what, ret_named, err);
}

int iso_named_path_of(int fd, const char *path, const char *what, struct iso_named_path *ret_named,
		      struct iso_error *err)
{
	return name(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), path, what, ret_named, err);
}

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

/* What is left of the absolute `path` once it has come to the directory `workspace` to stay there,
 * or NULL. `path` is written to meanwhile. */
static const char *rest_inside(char *path, const struct stat *workspace)
{
	for (char *end = path + 1;; end++) {
		struct stat st;
		end += strcspn(end, "/");
		char saved = *end;
		*end = '\0';
		bool is_it = stat(path, &st) == 0 && st.st_dev == workspace->st_dev &&
			     st.st_ino == workspace->st_ino;
		*end = saved;
		if (is_it && !climbs_out(end))
			return end + strspn(end, "/");
		if (saved == '\0')
			return NULL;
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

bool iso_named_path_is_inside(const char *path, const char *workspace)
{
	ISO_AUTO_FREE char *absolute = make_absolute(path);
	struct stat st;
	return absolute == NULL || stat(workspace, &st) < 0 || rest_inside(absolute, &st) != NULL;
}

int iso_named_path_open_beside(const struct iso_named_path *workspace, const char *path,
			       const char *what, struct iso_named_path *ret_named,
			       struct iso_error *err)
{
	ISO_AUTO_FREE char *absolute = make_absolute(path);
	struct stat st;
	if (absolute == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "open %s \"%s\"", what, path);
	const char *rest =
		*path != '\0' && fstat(workspace->fd, &st) == 0 ? rest_inside(absolute, &st) : NULL;
	if (rest == NULL)
		return iso_named_path_open(path, what, ret_named, err);
	int fd = iso_open_beneath(workspace->fd, *rest != '\0' ? rest : ".", O_PATH);
	if (fd < 0 && errno == EXDEV) {
		iso_error_set(err, ISO_ERR_DENIED, 0,
			      "open %s \"%s\": a link there is absolute or leads out of the "
			      "workspace \"%s\"",
			      what, path, workspace->path);
		return iso_error_hint(err, "a command that ran there can have put it there; if it "
					   "is meant, name where it leads");
	}
	return name(fd, path, what, ret_named, err);
}

void iso_named_path_done(struct iso_named_path *named)
{
	if (named->path == NULL)
		return;
	iso_fd_close(named->fd);
	free(named->path);
	*named = (struct iso_named_path){.fd = -1};
}

bool iso_named_path_is_directory(const char *path)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	return iso_named_path_open(path, "the directory", &named, NULL) == 0 &&
	       S_ISDIR(named.mode) && strcmp(named.path, path) == 0;
}
