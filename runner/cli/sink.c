/*
 * A file is written after everything has ended, as a fresh one that then takes the name: what a
 * payload may have planted there (a link, a FIFO) is replaced and never written through.
 */
#include "runner/cli/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/fresh_file.h"
#include "runner/base/text/parse.h"

int cli_sink_open(const char *receipt, const struct iso_named_path *workspace,
		  struct cli_sink *ret_sink, struct iso_error *err)
{
	*ret_sink = (struct cli_sink){.dir_fd = -1, .fd = -1};
	if (receipt == NULL)
		return 0;
	if (strncmp(receipt, "fd:", 3) == 0) {
		uint64_t number;
		if (iso_parse_u64_range(receipt + 3, 0, INT32_MAX, &number) < 0 ||
		    fcntl((int)number, F_GETFD) < 0)
			return iso_error_set(
				err, ISO_ERR_INVALID, 0,
				"write the receipt to \"%s\": it is no open descriptor", receipt);
		ret_sink->fd = (int)number;
		return 0;
	}
	const char *slash = strrchr(receipt, '/');
	ISO_AUTO_FREE char *directory =
		slash == NULL ? strdup(".")
			      : strndup(receipt, slash == receipt ? 1 : (size_t)(slash - receipt));
	if (directory == NULL)
		return iso_error_nomem(err);
	ret_sink->name = slash == NULL ? receipt : slash + 1;
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (iso_named_path_open_beside(workspace, directory, "the receipt's directory", &named,
				       err) < 0)
		return -1;
	if (*ret_sink->name == '\0' || faccessat(named.fd, ".", W_OK, AT_EACCESS) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, *ret_sink->name == '\0' ? EISDIR : errno,
				     "write the receipt to \"%s\"", receipt);
	ret_sink->dir_fd = ISO_TAKE_FD(named.fd);
	return 0;
}

static int write_text(int fd, const char *text)
{
	return iso_fd_write_all(fd, text, strlen(text)) < 0 || iso_fd_write_all(fd, "\n", 1) < 0
		       ? -1
		       : 0;
}

/* Whole and at once, whatever happens to us meanwhile. */
static int write_fresh_file(const struct cli_sink *sink, const char *json)
{
	ISO_CLEANUP(iso_fresh_file_done) struct iso_fresh_file file = {.fd = -1};
	return iso_fresh_file_open(sink->dir_fd, 0644, ".isorun-receipt-", &file) < 0 ||
			       write_text(file.fd, json) < 0 ||
			       iso_fresh_file_replace(&file, sink->name) < 0
		       ? -1
		       : 0;
}

int cli_sink_write(const struct cli_sink *sink, const char *json, struct iso_error *err)
{
	int status = 0;
	if (sink->to_stdout && write_text(STDOUT_FILENO, json) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno,
				       "write the receipt to standard output");
	if (sink->fd >= 0 && write_text(sink->fd, json) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno, "write the receipt to fd %d",
				       sink->fd);
	if (sink->dir_fd >= 0 && write_fresh_file(sink, json) < 0)
		status = iso_error_set(err, ISO_ERR_SYSTEM, errno, "write the receipt \"%s\"",
				       sink->name);
	return status;
}

void cli_sink_close(struct cli_sink *sink)
{
	sink->dir_fd = iso_fd_close(sink->dir_fd);
}
