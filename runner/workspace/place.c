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

/* Make the directory `name` in `parent` and give it to the workspace's owner. */
static int make_directory(const struct iso_workspace *workspace, const struct iso_place *parent,
			  const char *name, struct iso_error *err)
{
	struct stat root;
	if (mkdirat(parent->fd, name, 0755) < 0) {
		if (errno == EEXIST)
			return 0; /* whoever made it: it is opened and judged next */
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create the directory \"%s\"",
				     name);
	}
	if (geteuid() == 0 && fstat(workspace->root_fd, &root) == 0 &&
	    fchownat(parent->fd, name, root.st_uid, root.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "give away the directory \"%s\"",
				     name);
	return 0;
}

int iso_workspace_find_parent(const struct iso_workspace *workspace, const char *path,
			      struct iso_place *ret_parent, const char **ret_name,
			      struct iso_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return iso_error_set(err, ISO_ERR_INVALID, EISDIR, "write \"%s\"", path);
	struct iso_place place;
	if (iso_workspace_find(workspace, ".", &place, err) < 0)
		return -1;
	/* One component more at a time, each found from the root as part of the whole path. */
	for (const char *end = path + strspn(path, "/"); slash != NULL && end < slash;) {
		end += strcspn(end, "/");
		ISO_AUTO_FREE char *prefix = strndup(path, (size_t)(end - path));
		struct iso_place next;
		struct iso_error missing = {0};
		if (prefix == NULL) {
			iso_place_done(&place);
			return iso_error_nomem(err);
		}
		int status = iso_workspace_find(workspace, prefix, &next, &missing);
		if (status < 0 && missing.os_errno == ENOENT) {
			const char *last = strrchr(prefix, '/');
			status = make_directory(workspace, &place, last != NULL ? last + 1 : prefix,
						&missing);
			if (status == 0)
				status = iso_workspace_find(workspace, prefix, &next, &missing);
		}
		iso_place_done(&place);
		if (status < 0) {
			*err = missing;
			return -1;
		}
		place = next;
		end += strspn(end, "/");
	}
	if (!S_ISDIR(place.st.st_mode)) {
		iso_place_done(&place);
		return iso_error_set(err, ISO_ERR_SYSTEM, ENOTDIR, "write \"%s\"", path);
	}
	*ret_parent = place;
	*ret_name = name;
	return 0;
}
