/* What cannot be removed now is for the next one who tidies. */
#include "runner/base/file/state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/strv.h"

#define TIDY_EVERY 1024 /* files */

static size_t count_files(DIR *dir)
{
	size_t count = 0;
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += entry->d_name[0] != '.';
	rewinddir(dir);
	return count;
}

static void tidy(const struct iso_state_dir *state)
{
	int copy = openat(state->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (dir == NULL) {
		iso_fd_close(copy);
		return;
	}
	if (count_files(dir) > state->count_max) {
		time_t oldest = time(NULL) - (time_t)state->age_min_s;
		struct stat st;
		for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
			if (entry->d_name[0] != '.' &&
			    fstatat(state->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    st.st_mtime < oldest)
				(void)unlinkat(state->fd, entry->d_name, 0);
		}
	}
	(void)closedir(dir);
}

static int make(const char *path)
{
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

int iso_state_dir_open(const char *path, const char *name, size_t count_max, unsigned int age_min_s,
		       struct iso_state_dir *ret_dir, struct iso_error *err)
{
	ISO_AUTO_FREE char *full = iso_strf("%s/%s", path, name);
	if (full == NULL)
		return iso_error_nomem(err);
	int fd = make(path) < 0 || make(full) < 0
			 ? -1
			 : iso_fd_above_stdio(
				   open(full, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open the state directory \"%s\"",
				     full);
	*ret_dir = (struct iso_state_dir){
		.fd = fd,
		.count_max = count_max,
		.age_min_s = age_min_s,
	};
	tidy(ret_dir);
	return 0;
}

void iso_state_dir_added(struct iso_state_dir *dir)
{
	if (atomic_fetch_add(&dir->added, 1) % TIDY_EVERY == TIDY_EVERY - 1)
		tidy(dir);
}

void iso_state_dir_close(struct iso_state_dir *dir)
{
	dir->fd = iso_fd_close(dir->fd);
}
