/*
 * Writers lock the directory that holds the file, so that compare and swap are one step among all
 * of them. The new content is whole and on disk before it takes the name: first as a file without a
 * name, which a crash leaves nothing of, then by a link (a new file) or by a link and a rename.
 * Between those two a crash can leave a file that the next writer in that directory removes.
 */
#include "runner/workspace/file_tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/fresh_file.h"
#include "runner/base/text/json.h"
#include "runner/base/text/utf8.h"

#define LOCK_WAIT_MS   10000
#define TEMPORARY      ".isorun-write-"
#define LARGEST_HASHED ((uint64_t)1 << 30) /* an existing file that is compared */

static int refuse_kind(const char *path, struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_DENIED, 0, "Only regular files are accepted: \"%s\"",
			     path);
}

int iso_tool_read(const struct iso_workspace *workspace, const char *path, uint64_t limit,
		  struct iso_text *ret_text, struct iso_error *err)
{
	ISO_CLEANUP(iso_place_done) struct iso_place place = {.fd = -1};
	if (iso_workspace_find(workspace, path, &place, err) < 0)
		return -1;
	if (!S_ISREG(place.st.st_mode))
		return refuse_kind(path, err);
	ISO_AUTO_CLOSE int fd = iso_place_open(&place, O_RDONLY);
	ISO_AUTO_FREE char *data = NULL;
	size_t size;
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read \"%s\"", path);
	if (iso_fd_read_all(fd, limit, &data, &size) < 0)
		return errno == EFBIG
			       ? iso_error_set(err, ISO_ERR_DENIED, 0,
					       "File exceeds configured read limit")
			       : iso_error_set(err, ISO_ERR_SYSTEM, errno, "read \"%s\"", path);
	for (size_t at = 0, step; at < size; at += step) {
		step = iso_utf8_sequence((const uint8_t *)data + at, size - at);
		if (step == 0)
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read \"%s\": it is not UTF-8 text", path);
	}
	*ret_text = (struct iso_text){ISO_TAKE_PTR(data), size, false};
	return 0;
}

/* Wait for the directory's lock, but not for ever: a command in there could hold it. */
static int lock_directory(const struct iso_place *parent, int *ret_fd, struct iso_error *err)
{
	ISO_AUTO_CLOSE int fd = iso_place_open(parent, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open the directory");
	int64_t deadline = iso_deadline_after(iso_clock_mono_ns(), LOCK_WAIT_MS);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return iso_error_set(err, ISO_ERR_SYSTEM, errno, "lock the directory");
		if (iso_clock_mono_ns() >= deadline)
			return iso_error_set(err, ISO_ERR_SYSTEM, EBUSY,
					     "lock the directory: somebody else has it for 10 s");
		usleep(1000);
	}
	*ret_fd = ISO_TAKE_FD(fd);
	return 0;
}

/* With the lock held, whoever left these is gone. */
static void remove_leftovers(int dir_fd)
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	if (dir == NULL) {
		iso_fd_close(copy);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (iso_fresh_file_is_leftover(dir_fd, entry->d_name, TEMPORARY))
			(void)unlinkat(dir_fd, entry->d_name, 0); /* tidying only */
	}
	(void)closedir(dir);
}

/* What stands at the name now. */
struct target {
	bool exists;
	struct stat st;
};

/* TOOL-5: an existing file must be the one that the caller has seen. */
static int compare(int dir_fd, const char *name, const char *path, const char *expected,
		   struct target *ret_target, struct iso_error *err)
{
	ISO_AUTO_CLOSE int fd =
		iso_fd_above_stdio(openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	*ret_target = (struct target){.exists = fd >= 0};
	if (fd < 0 && errno != ENOENT)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "look at \"%s\"", path);
	if (fd < 0)
		return expected == NULL ? 0
					: iso_error_set(err, ISO_ERR_INVALID, 0,
							"Expected an existing file");
	if (fstat(fd, &ret_target->st) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "look at \"%s\"", path);
	if (!S_ISREG(ret_target->st.st_mode))
		return refuse_kind(path, err);
	const struct iso_place place = {.fd = fd};
	ISO_AUTO_CLOSE int readable = expected != NULL ? iso_place_open(&place, O_RDONLY) : -1;
	ISO_AUTO_FREE char *data = NULL;
	size_t size;
	char digest[ISO_SHA256_HEX_SIZE] = "";
	if (readable >= 0 && iso_fd_read_all(readable, LARGEST_HASHED, &data, &size) == 0)
		iso_sha256_hex(data, size, digest);
	if (expected == NULL || strcasecmp(digest, expected) != 0)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "Existing files require matching expected_sha256");
	return 0;
}

/* Owner and mode of what is replaced, else those of the workspace's owner. */
static int dress(int fd, const struct iso_workspace *workspace, const struct target *target)
{
	struct stat root;
	if (fstat(workspace->root_fd, &root) < 0)
		return -1;
	uid_t uid = target->exists ? target->st.st_uid : root.st_uid;
	gid_t gid = target->exists ? target->st.st_gid : root.st_gid;
	if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
		return -1;
	return fchmod(fd, target->exists ? target->st.st_mode & 0777 : 0644);
}

/* What is to be written, and where. All borrowed. */
struct written {
	int dir_fd;
	const char *name; /* in that directory */
	const char *path; /* as the caller named it, for messages */
	const char *text;
};

static int swap(const struct iso_workspace *workspace, const struct written *written,
		const struct target *target, struct iso_error *err)
{
	ISO_CLEANUP(iso_fresh_file_done) struct iso_fresh_file file = {.fd = -1};
	if (iso_fresh_file_open(written->dir_fd, 0600, TEMPORARY, &file) < 0 ||
	    iso_fd_write_all(file.fd, written->text, strlen(written->text)) < 0 ||
	    dress(file.fd, workspace, target) < 0 || fsync(file.fd) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "write \"%s\"", written->path);
	if ((target->exists ? iso_fresh_file_replace(&file, written->name)
			    : iso_fresh_file_create(&file, written->name)) < 0) {
		if (errno == EEXIST) /* made meanwhile, by one that takes no lock */
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "Existing files require matching expected_sha256");
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "name \"%s\"", written->path);
	}
	if (fsync(written->dir_fd) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "flush the directory of \"%s\"",
				     written->path);
	return 0;
}

static int print_written(const char *path, const char *text, struct iso_text *ret_text,
			 struct iso_error *err)
{
	struct iso_json json;
	char digest[ISO_SHA256_HEX_SIZE];
	iso_sha256_hex(text, strlen(text), digest);
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "path", path);
	iso_json_add_text(&json, root, "sha256", digest);
	iso_json_add_u64(&json, root, "bytes", strlen(text));
	struct iso_text written = {0};
	if (iso_json_end(&json, root, &written.data, err) < 0)
		return -1;
	written.size = strlen(written.data);
	*ret_text = written;
	return 0;
}

/*
 * A link at the end of the path is followed when it leads to a file beneath the root: then that
 * file is the one to write.
 */
static int resolve_target(const struct iso_workspace *workspace, const char *path,
			  struct iso_place *ret_target, struct iso_error *err)
{
	struct iso_error reason = {0};
	if (iso_workspace_find(workspace, path, ret_target, &reason) == 0)
		return 0;
	if (reason.os_errno == ENOENT) {
		ret_target->fd = -1;
		ret_target->path = strdup(path);
		return ret_target->path == NULL ? iso_error_nomem(err) : 0;
	}
	*err = reason;
	return -1;
}

/* Compare and swap in the directory `parent`, under its lock. */
static int write_in(const struct iso_workspace *workspace, const struct iso_place *parent,
		    const struct written *what, const char *expected, struct iso_error *err)
{
	ISO_AUTO_CLOSE int dir_fd = -1;
	struct target target;
	if (lock_directory(parent, &dir_fd, err) < 0)
		return -1;
	remove_leftovers(dir_fd);
	struct written written = *what;
	written.dir_fd = dir_fd;
	if (compare(dir_fd, what->name, what->path, expected, &target, err) < 0)
		return -1;
	return swap(workspace, &written, &target, err);
}

int iso_tool_write(const struct iso_workspace *workspace, const char *path, const char *text,
		   const char *expected, struct iso_text *ret_text, struct iso_error *err)
{
	ISO_CLEANUP(iso_place_done) struct iso_place target_place = {.fd = -1};
	ISO_CLEANUP(iso_place_done) struct iso_place parent = {.fd = -1};
	if (resolve_target(workspace, path, &target_place, err) < 0)
		return -1;
	if (target_place.fd >= 0 && !S_ISREG(target_place.st.st_mode))
		return refuse_kind(path, err);
	if (target_place.fd < 0 && expected != NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "Expected an existing file");
	const char *name;
	size_t made_length;
	if (iso_workspace_find_parent(workspace, target_place.path, &parent, &name, &made_length,
				      err) < 0)
		return -1;
	const struct written written = {.name = name, .path = path, .text = text};
	if (write_in(workspace, &parent, &written, expected, err) < 0) {
		iso_workspace_remove_made(workspace, target_place.path, made_length);
		return -1;
	}
	return print_written(path, text, ret_text, err);
}
