/* One buffer, emptied before it is filled again: a payload that does not read slows the typist. */
#include "sandbox/watch/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/base/file/fd.h"

#define END_OF_FILE 4 /* ^D, which a terminal in canonical mode reads as the end */

void iso_terminal_start(struct iso_terminal *terminal, int master_fd, int input_fd)
{
	iso_fd_close(terminal->master_fd);
	*terminal = (struct iso_terminal){.master_fd = master_fd, .input_fd = input_fd};
	(void)fcntl(master_fd, F_SETFL,
		    O_RDWR | O_NONBLOCK); /* its open file description is ours */
	iso_terminal_resize(terminal);
}

bool iso_terminal_wants_input(const struct iso_terminal *terminal)
{
	return terminal->master_fd >= 0 && terminal->input_fd >= 0 && terminal->pending == 0;
}

bool iso_terminal_wants_write(const struct iso_terminal *terminal)
{
	return terminal->master_fd >= 0 && terminal->pending > 0;
}

static void fill(struct iso_terminal *terminal)
{
	ssize_t count =
		iso_fd_read_now(terminal->input_fd, terminal->buffer, sizeof(terminal->buffer));
	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (count <= 0) {
		terminal->buffer[0] = END_OF_FILE;
		terminal->input_fd = -1;
		count = 1;
	}
	terminal->pending = (size_t)count;
	terminal->written = 0;
}

void iso_terminal_pump(struct iso_terminal *terminal)
{
	if (iso_terminal_wants_input(terminal))
		fill(terminal);
	if (!iso_terminal_wants_write(terminal))
		return;
	ssize_t count = write(terminal->master_fd, terminal->buffer + terminal->written,
			      terminal->pending - terminal->written);
	if (count < 0) {
		if (errno != EINTR && errno != EAGAIN)
			terminal->pending = 0; /* nobody is left to read it */
		return;
	}
	terminal->written += (size_t)count;
	if (terminal->written == terminal->pending)
		terminal->pending = 0;
}

void iso_terminal_resize(const struct iso_terminal *terminal)
{
	struct winsize size;
	if (terminal->master_fd >= 0 && terminal->input_fd >= 0 &&
	    ioctl(terminal->input_fd, TIOCGWINSZ, &size) == 0)
		(void)ioctl(terminal->master_fd, TIOCSWINSZ, &size); /* cosmetic */
}

void iso_terminal_done(struct iso_terminal *terminal)
{
	terminal->master_fd = iso_fd_close(terminal->master_fd);
	terminal->input_fd = -1;
	terminal->pending = 0;
}
