/*
 * The line is only drawn where the cursor stands at the start of a line, and taken away before
 * anything else is written, so that no byte of the output is lost or moved. It never wraps: what
 * does not fit is cut. The terminal is opened again without blocking: one that was stopped with ^S
 * must not stop the supervision.
 */
#include "runner/cli/terminal/status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/base/file/fd.h"

#define ERASE		"\r\033[K"
#define LONGEST		128
#define UNKNOWN_COLUMNS 80

static void erase(struct cli_status *status)
{
	if (!status->shown)
		return;
	/* A terminal that takes nothing now keeps the line for longer; nothing can be done. */
	status->shown = write(status->terminal_fd, ERASE, strlen(ERASE)) < 0;
}

/* A process in the background has no business on the screen, and may be stopped for trying. */
static bool is_in_foreground(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static size_t usable_columns(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return UNKNOWN_COLUMNS - 1;
	return size.ws_col - 1u; /* the last column would make some terminals wrap */
}

static void print_elapsed(uint64_t elapsed_ms, char *text, size_t size)
{
	uint64_t seconds = elapsed_ms / 1000;
	if (seconds < 3600)
		snprintf(text, size, "%" PRIu64 ":%02" PRIu64, seconds / 60, seconds % 60);
	else
		snprintf(text, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
			 seconds / 60 % 60, seconds % 60);
}

static void draw(struct cli_status *status, const struct iso_progress *progress)
{
	char elapsed[32], line[LONGEST];
	print_elapsed(progress->elapsed_ms, elapsed, sizeof(elapsed));
	int length = snprintf(line, sizeof(line), "isorun: %s", elapsed);
	if (progress->memory_bytes != UINT64_MAX)
		length += snprintf(line + length, sizeof(line) - (size_t)length, ", %.1f MiB",
				   (double)progress->memory_bytes / (1024 * 1024));
	if (progress->process_count != UINT64_MAX)
		length += snprintf(line + length, sizeof(line) - (size_t)length,
				   ", %" PRIu64 " process%s", progress->process_count,
				   progress->process_count == 1 ? "" : "es");
	size_t columns = usable_columns();
	size_t shown = (size_t)length < columns ? (size_t)length : columns;
	erase(status);
	if (write(status->terminal_fd, line, shown) > 0)
		status->shown = true;
}

static void on_progress(void *data, const struct iso_progress *progress)
{
	struct cli_status *status = data;
	if (progress == NULL) {
		erase(status);
		return;
	}
	bool midline = progress->midline[1] || (status->output_is_terminal && progress->midline[0]);
	if (!midline && is_in_foreground())
		draw(status, progress);
}

void cli_status_enter(struct cli_status *ret_status, struct iso_request *request, bool unwanted)
{
	*ret_status = (struct cli_status){
		.terminal_fd = -1,
		.output_is_terminal = isatty(STDOUT_FILENO) == 1,
	};
	if (unwanted || isatty(STDERR_FILENO) != 1)
		return;
	ret_status->terminal_fd =
		open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ret_status->terminal_fd < 0)
		return;
	request->on_progress = on_progress;
	request->progress_data = ret_status;
}

void cli_status_leave(struct cli_status *status)
{
	status->terminal_fd = iso_fd_close(status->terminal_fd);
}
