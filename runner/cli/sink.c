/*
 * A file is written after everything has ended, as a fresh one that then takes the name: what a
 * payload may have planted there meanwhile (a link, a FIFO) is replaced and never written through.
 */
#include "runner/cli/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/fresh_file.h"
#include "runner/base/file/path.h"
#include "runner/base/file/reopen.h"
#include "runner/base/text/parse.h"
#include "runner/base/text/strv.h"
#include "sandbox/watch/outlet.h"

#define READER_COMES_MS 1000 /* for one that was started together with us */
#define READER_LOOK_US	5000
#define READER_LIMIT_MS 10000 /* for one that takes nothing */

static int refuse(const char *receipt, int os_errno, const char *why, struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_INVALID, os_errno, "write the receipt to \"%s\"%s%s",
			     receipt, *why != '\0' ? ": " : "", why);
}

static bool is_fd(const char *receipt)
{
	return receipt != NULL && strncmp(receipt, "fd:", strlen("fd:")) == 0;
}

int cli_sink_find_fd(const char *receipt, int *ret_fd, struct iso_error *err)
{
	uint64_t number;
	if (!is_fd(receipt))
		return 0;
	if (iso_parse_u64_range(receipt + strlen("fd:"), 0, INT32_MAX, &number) < 0 ||
	    fcntl((int)number, F_GETFD) < 0)
		return refuse(receipt, 0, "it is no open descriptor", err);
	*ret_fd = (int)number;
	return 0;
}

/* One of our standard streams, when the object of `st` is what it leads to: a fresh file in its
 * place would take away what is written there. -1: neither. */
static int find_standard_stream(const struct stat *st)
{
	struct stat ours;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fstat(fd, &ours) == 0 && ours.st_dev == st->st_dev && ours.st_ino == st->st_ino)
			return fd;
	}
	return -1;
}

/* The place of the regular file `fd`, whatever links led there. */
static int take_place_of(int fd, const char *receipt, struct cli_sink *sink, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path target = {.fd = -1};
	if (iso_named_path_of(fd, receipt, "the receipt", &target, err) < 0)
		return -1;
	ISO_AUTO_FREE char *directory = iso_path_directory(target.path);
	sink->name = strdup(iso_path_name(target.path));
	if (directory == NULL || sink->name == NULL)
		return iso_error_nomem(err);
	sink->dir_fd =
		iso_fd_above_stdio(open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	return sink->dir_fd < 0 ? refuse(receipt, errno, "", err) : 0;
}

/* A device, terminal, pipe or FIFO. */
static int write_into(int fd, mode_t mode, const char *receipt, struct cli_sink *sink,
		      struct iso_error *err)
{
	if (S_ISDIR(mode))
		return refuse(receipt, EISDIR, "", err);
	if (!S_ISCHR(mode) && !S_ISFIFO(mode))
		return refuse(receipt, 0, "only files, devices that are no disks, and pipes do",
			      err);
	int64_t deadline = iso_deadline_after(iso_clock_mono_ns(), READER_COMES_MS);
	while ((sink->fd = iso_reopen(fd, O_WRONLY | O_NONBLOCK | O_NOCTTY)) < 0 &&
	       errno == ENXIO && S_ISFIFO(mode) && iso_clock_mono_ns() < deadline)
		usleep(READER_LOOK_US);
	sink->owns_fd = true;
	if (sink->fd < 0 && errno == ENXIO && S_ISFIFO(mode))
		return refuse(receipt, 0, "nobody reads this FIFO", err);
	return sink->fd < 0 ? refuse(receipt, errno, "", err) : 0;
}

/* What has the name already, outside of the workspace: the operator's, links included. */
static int open_existing(const char *receipt, struct cli_sink *sink, struct iso_error *err)
{
	struct stat st;
	ISO_AUTO_CLOSE int fd = iso_fd_above_stdio(open(receipt, O_PATH | O_CLOEXEC));
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(receipt, errno, "", err);
	sink->fd = find_standard_stream(&st);
	if (sink->fd >= 0)
		return 0;
	return S_ISREG(st.st_mode) ? take_place_of(fd, receipt, sink, err)
				   : write_into(fd, st.st_mode, receipt, sink, err);
}

/* `directory` holds, or will hold, the file `name`. */
static int open_in(struct iso_named_path *directory, const char *name, const char *receipt,
		   const struct iso_writable *writable, struct cli_sink *sink,
		   struct iso_error *err)
{
	struct stat st;
	bool exists = fstatat(directory->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	bool is_ours = iso_writable_holds(writable, directory->path) == NULL;
	if (exists && !is_ours && !S_ISREG(st.st_mode))
		return refuse(receipt, 0,
			      "it is no regular file, and a command may have put it there", err);
	if (exists && is_ours)
		return open_existing(receipt, sink, err);
	if (faccessat(directory->fd, ".", W_OK, AT_EACCESS) < 0)
		return refuse(receipt, errno, "", err);
	sink->name = strdup(name);
	sink->dir_fd = ISO_TAKE_FD(directory->fd);
	return sink->name == NULL ? iso_error_nomem(err) : 0;
}

static int open_file(const char *receipt, const struct iso_writable *writable,
		     struct cli_sink *sink, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	const char *name = iso_path_name(receipt);
	ISO_AUTO_FREE char *directory = iso_path_directory(receipt);
	if (directory == NULL)
		return iso_error_nomem(err);
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return refuse(receipt, EISDIR, "", err);
	if (iso_writable_open_beside(writable, directory, "the receipt's directory", &named, err) <
	    0)
		return -1;
	return open_in(&named, name, receipt, writable, sink, err);
}

int cli_sink_open(const char *receipt, int fd, const struct iso_writable *writable,
		  struct cli_sink *ret_sink, struct iso_error *err)
{
	struct cli_sink sink = {.dir_fd = -1, .fd = fd};
	int status = 0;
	if (is_fd(receipt) && fd < 0)
		status = refuse(receipt, 0, "it is no open descriptor", err);
	else if (receipt != NULL && !is_fd(receipt))
		status = open_file(receipt, writable, &sink, err);
	if (status < 0) {
		cli_sink_close(&sink);
		return -1;
	}
	*ret_sink = sink;
	return 0;
}

/* Into what somebody may read, or not. */
static int write_to_reader(int fd, const char *text, size_t size)
{
	struct iso_outlet outlet;
	int64_t deadline = iso_deadline_after(iso_clock_mono_ns(), READER_LIMIT_MS);
	if (iso_outlet_init(&outlet, fd) < 0)
		return -1;
	while (size > 0) {
		ssize_t count = iso_outlet_write(&outlet, text, size);
		if (count > 0) {
			text += count;
			size -= (size_t)count;
			continue;
		}
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			break;
		struct pollfd polled = {.fd = outlet.fd, .events = POLLOUT};
		if (poll(&polled, 1, iso_deadline_poll_ms(deadline, iso_clock_mono_ns())) == 0) {
			errno = ETIMEDOUT;
			break;
		}
	}
	int saved = errno;
	iso_outlet_done(&outlet);
	errno = saved;
	return size > 0 ? -1 : 0;
}

/* Whole and at once, whatever happens to us meanwhile. */
static int write_fresh_file(const struct cli_sink *sink, const char *line, size_t size)
{
	ISO_CLEANUP(iso_fresh_file_done) struct iso_fresh_file file = {.fd = -1};
	return iso_fresh_file_open(sink->dir_fd, 0644, ".isorun-receipt-", &file) < 0 ||
			       iso_fd_write_all(file.fd, line, size) < 0 ||
			       iso_fresh_file_replace(&file, sink->name) < 0
		       ? -1
		       : 0;
}

int cli_sink_write(const struct cli_sink *sink, const char *json, struct iso_error *err)
{
	ISO_AUTO_FREE char *line = iso_strf("%s\n", json);
	if (line == NULL)
		return iso_error_nomem(err);
	size_t size = strlen(line);
	int status = 0;
	if (sink->to_stdout && iso_fd_write_all(STDOUT_FILENO, line, size) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno,
				       "write the receipt to standard output");
	if (sink->fd >= 0 && write_to_reader(sink->fd, line, size) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno, "write the receipt to fd %d",
				       sink->fd);
	if (sink->dir_fd >= 0 && write_fresh_file(sink, line, size) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno, "write the receipt \"%s\"",
				       sink->name);
	return status;
}

void cli_sink_close(struct cli_sink *sink)
{
	sink->dir_fd = iso_fd_close(sink->dir_fd);
	if (sink->owns_fd)
		sink->fd = iso_fd_close(sink->fd);
	free(sink->name);
	sink->name = NULL;
}
