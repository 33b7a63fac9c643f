/* What operators name is theirs to name, links included; what runs could have put there is the
 * business of runner/workspace/writable.c. */
#include "runner/workspace/named_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"
#include "runner/base/file/patient.h"
#include "runner/base/file/reopen.h"
#include "runner/base/file/slow.h"

int iso_named_path_refuse(const char *path, const char *what, struct iso_error *err)
{
	int os_errno = errno;
	iso_error_set(err, ISO_ERR_INVALID, os_errno, "open %s \"%s\"", what, path);
	if (os_errno == ETIMEDOUT)
		return iso_error_hint(err,
				      "a file system on the way there (FUSE, or over a network) "
				      "does not answer");
	return -1;
}

/* From the descriptor `fd`, taken over, of what `path` named, and what was found out of it. */
static int name(int fd, const struct stat *st, const char *path, const char *what,
		struct iso_named_path *ret_named, struct iso_error *err)
{
	ISO_AUTO_CLOSE int owned_fd = fd;
	char canonical[PATH_MAX];
	if (iso_reopen_path(owned_fd, canonical, sizeof(canonical)) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "find the path of %s \"%s\"",
				     what, path);
	if (!iso_path_is_normal(canonical) || st->st_nlink == 0)
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
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.nlink = st->st_nlink,
		.dev = st->st_dev,
		.ino = st->st_ino,
	};
	return 0;
}

int iso_named_path_open(const char *path, const char *what, struct iso_named_path *ret_named,
			struct iso_error *err)
{
	if (*path == '\0')
		return iso_error_set(err, ISO_ERR_INVALID, 0, "open %s: its name is empty", what);
	struct stat st;
	int fd = iso_patient_open(path, 0, NULL, &st);
	return fd < 0 ? iso_named_path_refuse(path, what, err)
		      : name(fd, &st, path, what, ret_named, err);
}

int iso_named_path_of(int fd, const char *path, const char *what, struct iso_named_path *ret_named,
		      struct iso_error *err)
{
	char own_path[64];
	struct stat st;
	ISO_AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (copy < 0)
		return iso_named_path_refuse(path, what, err);
	if (!iso_slow_is(copy)) {
		if (fstat(copy, &st) < 0)
			return iso_named_path_refuse(path, what, err);
		return name(ISO_TAKE_FD(copy), &st, path, what, ret_named, err);
	}
	snprintf(own_path, sizeof(own_path), "/proc/self/fd/%d", fd);
	int opened = iso_patient_open(own_path, 0, NULL, &st);
	return opened < 0 ? iso_named_path_refuse(path, what, err)
			  : name(opened, &st, path, what, ret_named, err);
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
