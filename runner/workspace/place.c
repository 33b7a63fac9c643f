/* The kernel resolves and opens in one step (openat2(2)); only then is the place judged. */
#include "runner/workspace/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/names.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/beneath.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"
#include "runner/base/file/reopen.h"
#include "runner/workspace/named_path.h"

int iso_workspace_open(const char *root, const struct iso_strv *private_names,
		       struct iso_workspace *ret_workspace, struct iso_error *err)
{
	struct iso_named_path named;
	if (iso_named_path_open(root, "the workspace", &named, err) < 0)
		return -1;
	if (!S_ISDIR(named.mode)) {
		iso_named_path_done(&named);
		return iso_error_set(err, ISO_ERR_INVALID, ENOTDIR, "open the workspace \"%s\"",
				     root);
	}
	*ret_workspace = (struct iso_workspace){named.path, named.fd, private_names};
	return 0;
}

void iso_workspace_close(struct iso_workspace *workspace)
{
	if (workspace->root == NULL)
		return;
	iso_fd_close(workspace->root_fd);
	free(workspace->root);
	*workspace = (struct iso_workspace){.root_fd = -1};
}

static int escapes(struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_DENIED, 0, "Path escapes workspace");
}

/* Where the object is now, relative to the root. */
static int read_path(const struct iso_workspace *workspace, struct iso_place *place,
		     struct iso_error *err)
{
	char path[PATH_MAX];
	if (iso_reopen_path(place->fd, path, sizeof(path)) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "find where a path leads");
	/* Moved out or deleted meanwhile, or the root itself was: no place beneath it. */
	if (!iso_path_is_beneath(path, workspace->root) || !iso_path_is_normal(path))
		return escapes(err);
	size_t root_length = strcmp(workspace->root, "/") == 0 ? 0 : strlen(workspace->root);
	const char *relative = path + root_length;
	place->path = strdup(relative + strspn(relative, "/"));
	return place->path == NULL ? iso_error_nomem(err) : 0;
}

int iso_workspace_find(const struct iso_workspace *workspace, const char *path,
		       struct iso_place *ret_place, struct iso_error *err)
{
	struct iso_place place = {.fd = iso_open_beneath(workspace->root_fd, path, O_PATH)};
	if (place.fd < 0) {
		if (errno == EXDEV || errno == ELOOP)
			return escapes(err);
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open \"%s\"", path);
	}
	int status = read_path(workspace, &place, err);
	if (status == 0 && fstat(place.fd, &place.st) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno, "look at \"%s\"", path);
	if (status == 0 && iso_name_is_private(place.path, workspace->private_names))
		status = iso_error_set(err, ISO_ERR_DENIED, 0,
				       "Private or control path is excluded");
	if (status < 0) {
		iso_place_done(&place);
		return -1;
	}
	*ret_place = place;
	return 0;
}

void iso_place_done(struct iso_place *place)
{
	iso_fd_close(place->fd);
	free(place->path);
	*place = (struct iso_place){.fd = -1};
}

int iso_place_open(const struct iso_place *place, int flags)
{
	return iso_reopen(place->fd, flags | O_NONBLOCK | O_NOCTTY);
}

/* Give the directory `name`, which was just made with mode 0700, to the workspace's owner. By
 * descriptor, and only what can be that directory: by name it may be another one by now. */
static int give_away(const struct iso_workspace *workspace, const struct iso_place *parent,
		     const char *name)
{
	struct stat root, made;
	ISO_AUTO_CLOSE int fd = iso_fd_above_stdio(
		openat(parent->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0 || fstat(fd, &made) < 0 || fstat(workspace->root_fd, &root) < 0)
		return -1;
	if (made.st_uid != geteuid() || (made.st_mode & 07777 & ~(mode_t)S_ISGID) != 0700) {
		errno = ESTALE;
		return -1;
	}
	if (geteuid() == 0 && fchown(fd, root.st_uid, root.st_gid) < 0)
		return -1;
	return fchmod(fd, 0755 | (made.st_mode & S_ISGID));
}

/* Make the directory `name` in `parent`. `ret_made`: it was not there. */
static int make_directory(const struct iso_workspace *workspace, const struct iso_place *parent,
			  const char *name, bool *ret_made, struct iso_error *err)
{
	*ret_made = mkdirat(parent->fd, name, 0700) == 0;
	if (!*ret_made)
		return errno == EEXIST ? 0 /* whoever made it: it is opened and judged next */
				       : iso_error_set(err, ISO_ERR_SYSTEM, errno,
						       "create the directory \"%s\"", name);
	if (give_away(workspace, parent, name) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "give away the directory \"%s\"",
				     name);
	return 0;
}

/* Find the directory `prefix` in `parent`, which was found already, or make it there. */
static int find_or_make(const struct iso_workspace *workspace, const struct iso_place *parent,
			const char *prefix, struct iso_place *ret_place, bool *ret_made,
			struct iso_error *err)
{
	struct iso_error missing = {0};
	const char *last = strrchr(prefix, '/');
	*ret_made = false;
	if (iso_workspace_find(workspace, prefix, ret_place, &missing) == 0)
		return 0;
	if (missing.os_errno != ENOENT) {
		*err = missing;
		return -1;
	}
	if (make_directory(workspace, parent, last != NULL ? last + 1 : prefix, ret_made, err) < 0)
		return -1;
	return iso_workspace_find(workspace, prefix, ret_place, err);
}

void iso_workspace_remove_made(const struct iso_workspace *workspace, const char *path,
			       size_t made_length)
{
	int saved_errno = errno;
	ISO_AUTO_FREE char *prefix = strdup(path);
	char *slash = prefix != NULL && made_length > 0 ? strrchr(prefix, '/') : NULL;
	/* From the innermost, which is what stands before the last component, outwards. */
	while (slash != NULL && (size_t)(slash - prefix) >= made_length) {
		ISO_CLEANUP(iso_place_done) struct iso_place parent = {.fd = -1};
		*slash = '\0';
		slash = strrchr(prefix, '/');
		const char *name = slash != NULL ? slash + 1 : prefix;
		ISO_AUTO_FREE char *above = strndup(prefix, (size_t)(name - prefix));
		if (above == NULL || *name == '\0' ||
		    iso_workspace_find(workspace, *above != '\0' ? above : ".", &parent, NULL) <
			    0 ||
		    unlinkat(parent.fd, name, AT_REMOVEDIR) < 0)
			break; /* somebody has put something there: it is theirs now */
	}
	errno = saved_errno;
}

int iso_workspace_find_parent(const struct iso_workspace *workspace, const char *path,
			      struct iso_place *ret_parent, const char **ret_name,
			      size_t *ret_made_length, struct iso_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t made_length = 0;
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return iso_error_set(err, ISO_ERR_INVALID, EISDIR, "write \"%s\"", path);
	struct iso_place place;
	if (iso_workspace_find(workspace, ".", &place, err) < 0)
		return -1;
	int status = 0;
	/* One component more at a time, each found from the root as part of the whole path. */
	for (const char *end = path + strspn(path, "/"); slash != NULL && end < slash;) {
		bool made = false;
		struct iso_place next;
		end += strcspn(end, "/");
		ISO_AUTO_FREE char *prefix = strndup(path, (size_t)(end - path));
		status = prefix == NULL
				 ? iso_error_nomem(err)
				 : find_or_make(workspace, &place, prefix, &next, &made, err);
		if (made && made_length == 0)
			made_length = (size_t)(end - path);
		if (status < 0)
			break;
		iso_place_done(&place);
		place = next;
		end += strspn(end, "/");
	}
	if (status == 0 && !S_ISDIR(place.st.st_mode))
		status = iso_error_set(err, ISO_ERR_SYSTEM, ENOTDIR, "write \"%s\"", path);
	if (status < 0) {
		iso_place_done(&place);
		iso_workspace_remove_made(workspace, path, made_length);
		return -1;
	}
	*ret_parent = place;
	*ret_name = name;
	*ret_made_length = made_length;
	return 0;
}
