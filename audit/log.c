/*
 * Two locks: the log's own among threads, the file's among processes. Whoever has both looks
 * whether the name still means this file (it may have been rotated), and reads the last line only
 * when another process has appended since. Neither is held while a line goes to disk: of the
 * threads that wait for that, one flushes for all who have written by then. Only a file that is
 * given up, or gives its name up, is flushed under them: nothing may chain to what can get lost.
 */
#include "audit/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/fresh_file.h"
#include "runner/base/file/path.h"
#include "runner/base/file/write_guard.h"
#include "runner/base/text/strv.h"

#define OPEN_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Rotation gives the name to another file, which would leave the link's target behind. */
static int refuse_link(const char *path, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_INVALID, 0, "open the audit log \"%s\": it is a symbolic link",
		      path);
	return iso_error_hint(err, "name the file that it leads to");
}

static int open_file(struct iso_audit_log *log, struct iso_error *err)
{
	struct stat st;
	log->fd = iso_fd_above_stdio(open(log->path, OPEN_FLAGS, 0600));
	if (log->fd < 0 || fstat(log->fd, &st) < 0) {
		int saved = errno;
		log->fd = iso_fd_close(log->fd);
		if (saved == ELOOP)
			return refuse_link(log->path, err);
		return iso_error_set(err, ISO_ERR_SYSTEM, saved, "open the audit log \"%s\"",
				     log->path);
	}
	if (!S_ISREG(st.st_mode)) {
		log->fd = iso_fd_close(log->fd);
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "open the audit log \"%s\": it is no regular file", log->path);
	}
	log->known_size = -1;
	return 0;
}

int iso_audit_log_open(const char *path, const struct iso_audit_key *key, bool sync,
		       struct iso_audit_log *ret_log, struct iso_error *err)
{
	struct iso_audit_log log = {
		.fd = -1,
		.sync = sync,
		.has_key = key != NULL,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.flush = {.ended = PTHREAD_COND_INITIALIZER, .unsynced_from = -1},
	};
	if (key != NULL)
		log.key = *key;
	log.path = strdup(path);
	if (log.path == NULL)
		return iso_error_nomem(err);
	if (open_file(&log, err) < 0) {
		iso_audit_log_close(&log);
		return -1;
	}
	*ret_log = log;
	return 0;
}

void iso_audit_log_close(struct iso_audit_log *log)
{
	if (log->path == NULL)
		return;
	iso_fd_close(log->fd);
	free(log->path);
	pthread_cond_destroy(&log->flush.ended);
	pthread_mutex_destroy(&log->lock);
	*log = (struct iso_audit_log){.fd = -1};
}

static int fail(const struct iso_audit_log *log, int os_errno, const char *what,
		struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_SYSTEM, os_errno, "%s the audit log \"%s\"", what,
			     log->path);
}

/* No line that was written by now and is not known to be on disk is promised. Those who wait for
 * them are told; the range grows until none of them waits any more. */
static void give_up_unsynced(struct iso_audit_sync *flush, int os_errno)
{
	if (flush->failed_first == 0)
		flush->failed_first = flush->on_disk + 1;
	flush->failed_last = flush->written;
	flush->failed_errno = os_errno;
	flush->on_disk = flush->written;
}

/* What was written to the file that is given up has to reach the disk, too; if it does not, that
 * is for those to know who wrote it. */
static void leave_file(struct iso_audit_log *log)
{
	struct iso_audit_sync *flush = &log->flush;
	while (flush->running)
		pthread_cond_wait(&flush->ended, &log->lock);
	if (log->sync && flush->on_disk < flush->written && fdatasync(log->fd) < 0)
		give_up_unsynced(flush, errno);
	flush->on_disk = flush->written;
	flush->unsynced_from = -1;
	log->fd = iso_fd_close(log->fd);
}

static bool has_the_name(const struct iso_audit_log *log, const struct stat *ours)
{
	struct stat named;
	return fstatat(AT_FDCWD, log->path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == ours->st_dev && named.st_ino == ours->st_ino;
}

/* Lock the file that has the name now. */
static int lock(struct iso_audit_log *log, struct iso_error *err)
{
	for (;;) {
		struct stat ours;
		if (log->fd < 0 && open_file(log, err) < 0)
			return -1; /* the next call tries again */
		while (flock(log->fd, LOCK_EX) < 0) {
			if (errno != EINTR)
				return fail(log, errno, "lock", err);
		}
		if (fstat(log->fd, &ours) < 0)
			return fail(log, errno, "look at", err);
		if (has_the_name(log, &ours))
			return 0;
		leave_file(log);
	}
}

static void unlock(const struct iso_audit_log *log)
{
	(void)flock(log->fd, LOCK_UN); /* closing would do it, too */
}

static int refuse_file(const struct iso_audit_log *log, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_INVALID, 0,
		      "append to the audit log \"%s\": its last line is no record", log->path);
	return iso_error_hint(err, "name a file that isorun has begun, or none that exists");
}

/* Read the head from the last whole line; what stands behind that is cut off, if it is the
 * beginning of a line of ours. */
static int read_head(struct iso_audit_log *log, off_t size, off_t *ret_end, struct iso_error *err)
{
	size_t wanted =
		(size_t)size < 2 * ISO_AUDIT_LINE_MAX ? (size_t)size : 2 * ISO_AUDIT_LINE_MAX;
	ISO_AUTO_FREE char *tail = malloc(wanted + 1);
	if (tail == NULL)
		return iso_error_nomem(err);
	if (pread(log->fd, tail, wanted, size - (off_t)wanted) != (ssize_t)wanted)
		return fail(log, errno, "read", err);
	size_t end = wanted;
	while (end > 0 && tail[end - 1] != '\n')
		end--;
	*ret_end = size - (off_t)(wanted - end);
	if (!iso_audit_line_is_torn(tail + end, wanted - end))
		return refuse_file(log, err);
	if (end == 0 && wanted == (size_t)size) { /* not one whole line */
		iso_audit_head_init(&log->head);
		return 0;
	}
	size_t begin = end > 0 ? end - 1 : 0;
	while (begin > 0 && tail[begin - 1] != '\n')
		begin--;
	struct iso_error reason = {0};
	if (end == 0 || (begin == 0 && wanted != (size_t)size) ||
	    iso_audit_line_check(tail + begin, end - 1 - begin, NULL, false, &log->head, &reason) <
		    0)
		return refuse_file(log, err);
	return 0;
}

/* Under the lock: know the head, and the size of what is whole. */
static int find_head(struct iso_audit_log *log, off_t *ret_end, uint64_t *ret_torn,
		     struct iso_error *err)
{
	struct stat st;
	if (fstat(log->fd, &st) < 0)
		return fail(log, errno, "look at", err);
	*ret_torn = 0;
	*ret_end = st.st_size;
	if (st.st_size == log->known_size)
		return 0;
	if (read_head(log, st.st_size, ret_end, err) < 0)
		return -1;
	*ret_torn = (uint64_t)(st.st_size - *ret_end);
	return 0;
}

static int write_at(const struct iso_audit_log *log, const char *line, size_t size, off_t end,
		    struct iso_error *err)
{
	struct iso_write_guard guard;
	size_t done = 0;
	iso_write_guard_begin(&guard);
	while (done < size) {
		ssize_t count = pwrite(log->fd, line + done, size - done, end + (off_t)done);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		done += (size_t)count;
	}
	iso_write_guard_end(&guard, done < size ? errno : 0);
	if (done == size)
		return 0;
	int os_errno = errno;
	if (ftruncate(log->fd, end) < 0)
		os_errno = errno; /* the torn line stays for the next append to remove */
	return fail(log, os_errno, "write", err);
}

static int append_locked(struct iso_audit_log *log, const struct iso_audit_event *event,
			 struct iso_error *err)
{
	off_t end;
	struct iso_audit_event told = *event;
	ISO_AUTO_FREE char *line = NULL;
	size_t size;
	if (find_head(log, &end, &told.torn_bytes, err) < 0)
		return -1;
	if (told.torn_bytes > 0 && ftruncate(log->fd, end) < 0)
		return fail(log, errno, "mend", err);
	struct iso_audit_head head = log->head;
	if (iso_audit_line_print(&told, log->has_key ? &log->key : NULL, &head, &line, &size, err) <
		    0 ||
	    write_at(log, line, size, end, err) < 0) {
		log->known_size = -1;
		return -1;
	}
	/* Lines of others in between cannot be taken back. */
	if (log->flush.unsynced_from < 0 || end != log->known_size)
		log->flush.unsynced_from = end;
	log->head = head;
	log->known_size = end + (off_t)size;
	log->flush.written++;
	return 0;
}

/* The lines from the first that is not on disk are taken back, if nobody has appended since, here
 * or, after a rotation, in the file that follows. */
static void take_back(struct iso_audit_log *log)
{
	struct stat st;
	while (flock(log->fd, LOCK_EX) < 0 && errno == EINTR)
		;
	bool ours = log->flush.unsynced_from >= 0 && fstat(log->fd, &st) == 0 &&
		    st.st_size == log->known_size && has_the_name(log, &st);
	if (ours) /* what stays in the file is told as failed all the same */
		(void)!ftruncate(log->fd, log->flush.unsynced_from);
	log->known_size = -1;
	log->flush.unsynced_from = -1;
	unlock(log);
}

/* Flush for everybody who has written by now; the lock is given up meanwhile. */
static void flush_for_all(struct iso_audit_log *log)
{
	struct iso_audit_sync *flush = &log->flush;
	uint64_t upto = flush->written;
	off_t end = log->known_size; /* of these lines, or before it when others wrote since */
	int fd = log->fd;	     /* stays open while this runs */
	flush->running = true;
	pthread_mutex_unlock(&log->lock);
	int os_errno = fdatasync(fd) < 0 ? errno : 0;
	pthread_mutex_lock(&log->lock);
	flush->running = false;
	if (os_errno != 0) {
		/* Lines that were written meanwhile go with those that they follow. */
		give_up_unsynced(flush, os_errno);
		take_back(log);
	} else {
		flush->on_disk = upto;
		if (upto == flush->written)
			flush->unsynced_from = -1;
		else if (flush->unsynced_from < end)
			flush->unsynced_from = end; /* what is promised is never taken back */
	}
	pthread_cond_broadcast(&flush->ended);
}

/* Wait until line number `line` is on disk. */
static int wait_for_disk(struct iso_audit_log *log, uint64_t line, struct iso_error *err)
{
	struct iso_audit_sync *flush = &log->flush;
	flush->waiting++;
	while (flush->on_disk < line) {
		if (flush->running)
			pthread_cond_wait(&flush->ended, &log->lock);
		else
			flush_for_all(log);
	}
	int status = 0;
	if (line >= flush->failed_first && line <= flush->failed_last)
		status = fail(log, flush->failed_errno, "write", err);
	if (--flush->waiting == 0)
		flush->failed_first = flush->failed_last = 0; /* everybody has been told */
	return status;
}

static int append(struct iso_audit_log *log, const struct iso_audit_event *event,
		  struct iso_audit_head *ret_head, struct iso_error *err)
{
	if (lock(log, err) < 0)
		return -1;
	int status = append_locked(log, event, err);
	unlock(log);
	if (status < 0)
		return -1;
	struct iso_audit_head head = log->head;
	if (log->sync && wait_for_disk(log, log->flush.written, err) < 0)
		return -1;
	if (ret_head != NULL)
		*ret_head = head;
	return 0;
}

int iso_audit_log_append(struct iso_audit_log *log, const struct iso_audit_event *event,
			 struct iso_audit_head *ret_head, struct iso_error *err)
{
	pthread_mutex_lock(&log->lock);
	int status = append(log, event, ret_head, err);
	pthread_mutex_unlock(&log->lock);
	return status;
}

static int reserve(struct iso_audit_log *log, struct iso_error *err)
{
	struct iso_write_guard guard;
	struct stat st;
	if (lock(log, err) < 0)
		return -1;
	int status = fstat(log->fd, &st) < 0 ? fail(log, errno, "look at", err) : 0;
	iso_write_guard_begin(&guard);
	int failed = status == 0 && fallocate(log->fd, FALLOC_FL_KEEP_SIZE, st.st_size,
					      (off_t)(2 * ISO_AUDIT_LINE_MAX)) < 0
			     ? errno
			     : 0;
	iso_write_guard_end(&guard, failed);
	if (failed != 0 && failed != EOPNOTSUPP)
		status = fail(log, failed, "reserve room in", err);
	unlock(log);
	return status;
}

int iso_audit_log_reserve(struct iso_audit_log *log, struct iso_error *err)
{
	pthread_mutex_lock(&log->lock);
	int status = reserve(log, err);
	pthread_mutex_unlock(&log->lock);
	return status;
}

static int open_directory(const char *path)
{
	ISO_AUTO_FREE char *directory = iso_path_directory(path);
	if (directory == NULL)
		return -1;
	return iso_fd_above_stdio(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int rotate_locked(struct iso_audit_log *log, struct iso_error *err)
{
	off_t end;
	uint64_t torn;
	if (find_head(log, &end, &torn, err) < 0)
		return -1;
	ISO_AUTO_FREE char *old = iso_strf("%s.%" PRIu64, log->path, log->head.seq);
	if (old == NULL)
		return iso_error_nomem(err);
	const struct iso_audit_event event = {
		.tool = "audit.rotate",
		.status = "completed",
		.exit_code = -1,
		.unix_ms = iso_clock_unix_ms(),
		.torn_bytes = torn,
	};
	ISO_AUTO_FREE char *line = NULL;
	size_t size;
	struct iso_audit_head head = log->head;
	if (iso_audit_line_print(&event, log->has_key ? &log->key : NULL, &head, &line, &size,
				 err) < 0)
		return -1;
	ISO_AUTO_CLOSE int dir_fd = open_directory(log->path);
	ISO_CLEANUP(iso_fresh_file_done) struct iso_fresh_file file = {.fd = -1};
	/* The old file goes to disk first: the new one is chained to its last line. */
	if (dir_fd < 0 || iso_fresh_file_open(dir_fd, 0600, ".isorun-audit-", &file) < 0 ||
	    iso_fd_write_all(file.fd, line, size) < 0 || fsync(file.fd) < 0 ||
	    (torn > 0 && ftruncate(log->fd, end) < 0) || fsync(log->fd) < 0 ||
	    link(log->path, old) < 0 || iso_fresh_file_replace(&file, iso_path_name(log->path)) < 0)
		return fail(log, errno, "rotate", err);
	return 0;
}

int iso_audit_log_rotate(struct iso_audit_log *log, struct iso_error *err)
{
	pthread_mutex_lock(&log->lock);
	int status = lock(log, err);
	if (status == 0) {
		status = rotate_locked(log, err);
		unlock(log);
	}
	pthread_mutex_unlock(&log->lock);
	return status;
}
