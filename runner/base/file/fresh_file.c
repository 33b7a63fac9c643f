/*
 * Linux cannot rename a file without a name over another, so a file that replaces one is linked to
 * a temporary name first: only a SIGKILL between that and the rename can leave it.
 */
#include "runner/base/file/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runner/base/file/fd.h"
#include "runner/base/file/reopen.h"
#include "runner/base/random.h"

static int make_temporary_name(struct iso_fresh_file *file)
{
	char random[ISO_RANDOM_HEX_SIZE(8)];
	if (iso_random_hex(8, random) < 0)
		return -1;
	snprintf(file->temporary, sizeof(file->temporary), "%.40s%s", file->prefix, random);
	return 0;
}

static int open_named(struct iso_fresh_file *file, mode_t mode)
{
	if (make_temporary_name(file) < 0)
		return -1;
	file->fd = iso_fd_above_stdio(openat(file->dir_fd, file->temporary,
					     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					     mode));
	return file->fd < 0 ? -1 : 0;
}

int iso_fresh_file_open(int dir_fd, mode_t mode, const char *prefix,
			struct iso_fresh_file *ret_file)
{
	struct iso_fresh_file file = {.fd = -1, .dir_fd = dir_fd, .prefix = prefix};
	file.fd = iso_fd_above_stdio(openat(dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
	if (file.fd < 0 &&
	    ((errno != EOPNOTSUPP && errno != EISDIR) || open_named(&file, mode) < 0))
		return -1;
	*ret_file = file;
	return 0;
}

static void remove_temporary(struct iso_fresh_file *file)
{
	int saved = errno;
	(void)unlinkat(file->dir_fd, file->temporary, 0); /* the first error is the one to tell */
	file->temporary[0] = '\0';
	errno = saved;
}

int iso_fresh_file_create(struct iso_fresh_file *file, const char *name)
{
	if (file->temporary[0] == '\0')
		return iso_reopen_link(file->fd, file->dir_fd, name);
	if (linkat(file->dir_fd, file->temporary, file->dir_fd, name, 0) < 0)
		return -1;
	remove_temporary(file);
	return 0;
}

int iso_fresh_file_replace(struct iso_fresh_file *file, const char *name)
{
	if (file->temporary[0] == '\0' && iso_fresh_file_create(file, name) == 0)
		return 0; /* nothing had the name */
	if (file->temporary[0] == '\0' &&
	    (errno != EEXIST || make_temporary_name(file) < 0 ||
	     iso_reopen_link(file->fd, file->dir_fd, file->temporary) < 0)) {
		file->temporary[0] = '\0';
		return -1;
	}
	if (renameat(file->dir_fd, file->temporary, file->dir_fd, name) < 0) {
		remove_temporary(file);
		return -1;
	}
	file->temporary[0] = '\0';
	return 0;
}

void iso_fresh_file_done(struct iso_fresh_file *file)
{
	if (file->fd >= 0 && file->temporary[0] != '\0')
		remove_temporary(file);
	file->fd = iso_fd_close(file->fd);
}
