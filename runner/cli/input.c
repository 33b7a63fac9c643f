/*
 * Standard input from a file. Its name is the operator's, what stands there may be a payload's: a
 * link of its making is not followed out of the workspace, and what it could make us wait for is
 * not opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/patient.h"
#include "runner/cli/cli.h"

/* As a shell's `<(…)` is, and unlike a FIFO, which has a name and perhaps no writer. */
static bool is_nameless_pipe(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

int cli_run_open_stdin(struct cli_run *run, struct iso_error *err)
{
	const char *path = run->stdin_file;
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	struct stat st;
	if (path == NULL)
		return 0;
	/* A pipe has no path: the object by its name as it is. */
	ISO_AUTO_CLOSE int pipe_fd = iso_patient_open(path, 0, NULL, &st);
	bool is_pipe = pipe_fd >= 0 && is_nameless_pipe(pipe_fd);
	if (!is_pipe &&
	    iso_writable_open_beside(&run->writable, path, "the standard input", &named, err) < 0)
		return -1;
	int fd = is_pipe ? pipe_fd : named.fd;
	if (fstat(fd, &st) < 0 || !(is_pipe || S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
		return iso_error_set(err, ISO_ERR_INVALID, S_ISDIR(st.st_mode) ? EISDIR : 0,
				     "open the standard input \"%s\"%s", path,
				     S_ISDIR(st.st_mode)
					     ? ""
					     : ": a file, a terminal or a pipe is "
					       "needed; of a FIFO: --stdin inherit <FIFO");
	run->stdin_fd = iso_patient_reopen(fd, O_RDONLY | O_NOCTTY, NULL);
	if (run->stdin_fd < 0)
		return iso_error_set(err, ISO_ERR_INVALID, errno, "open the standard input \"%s\"",
				     path);
	run->request.stdin_fd = run->stdin_fd;
	return 0;
}
