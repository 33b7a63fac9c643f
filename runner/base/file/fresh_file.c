/*
 * Linux cannot rename a file without a name over another, so a file that replaces one is linked to
 * a temporary name first: only a SIGKILL between that and the rename can leave it. The name holds
 * the file's own inode number: what is found under such a name later and has another number was
 * not ours, whatever it is called.
 */
#include "runner/base/file/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/file/fd.h"
#include "runner/base/file/reopen.h"
#include "runner/base/random.h"

#define PREFIX_MAX   30
#define RANDOM_BYTES 4

/* The name of a file with the inode number `ino`; 0 for one that does not exist yet. */
static int make_temporary_name(struct iso_fresh_file *file, uint64_t ino)
{
	char random[ISO_RANDOM_HEX_SIZE(RANDOM_BYTES)];
	if (iso_random_hex(RANDOM_BYTES, random) < 0)
		return -1;
	snprintf(file->temporary, sizeof(file->temporary), "%.*s%s-%" PRIx64, PREFIX_MAX,
		 file->prefix, random, ino);
	return 0;
}

/* Where the file system has no nameless files: the number is known once there is a file. */
static int open_named(struct iso_fresh_file *file, mode_t mode)
{
	struct stat st;
	char at_first[ISO_FRESH_NAME_SIZE];
	if (make_temporary_name(file, 0) < 0)
		return -1;
	file->fd = iso_fd_above_stdio(openat(file->dir_fd, file->temporary,
					     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					     mode));
	if (file->fd < 0)
		return -1;
	memcpy(at_first, file->temporary, sizeof(at_first));
	if (fstat(file->fd, &st) < 0 || make_temporary_name(file, st.st_ino) < 0 ||
	    renameat(file->dir_fd, at_first, file->dir_fd, file->temporary) < 0) {
		memcpy(file->temporary, at_first, sizeof(at_first));
		iso_fresh_file_done(file);
		return -1;
	}
	return 0;
}

/* Give a nameless file its temporary name. */
static int link_temporary(struct iso_fresh_file *file)
{
	struct stat st;
	if (fstat(file->fd, &st) == 0 && make_temporary_name(file, st.st_ino) == 0 &&
	    iso_reopen_link(file->fd, file->dir_fd, file->temporary) == 0)
		return 0;
	file->temporary[0] = '\0';
	return -1;
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
	if (file->temporary[0] == '\0' && (errno != EEXIST || link_temporary(file) < 0))
		return -1;
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

bool iso_fresh_file_is_leftover(int dir_fd, const char *name, const char *prefix)
{
	struct stat st;
	size_t length = strlen(prefix);
	const char *dash = strncmp(name, prefix, length) == 0 ? strchr(name + length, '-') : NULL;
	if (dash == NULL || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	char *end;
	uint64_t ino = strtoull(dash + 1, &end, 16);
	return end > dash + 1 && *end == '\0' && S_ISREG(st.st_mode) && st.st_ino == ino;
}
