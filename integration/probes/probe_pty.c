/*
 * A typist at a terminal:
 *	probe_pty ROWS COLUMNS WAIT SEND [WAIT SEND]… -- PROGRAM ARGUMENT…
 * starts the program with a terminal of its own, waits until WAIT was printed, types SEND, and so
 * on. SEND knows \n, \003 (^C), \032 (^Z) and \004 (^D) as written here; "resize R C" changes the
 * window instead, "pause MS" waits, "term" sends SIGTERM to the program. Prints what the terminal
 * showed, and then whether its settings were as before.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static char shown[1 << 20];
static size_t shown_size;

/*
 * Read until `text` has been shown after the first `*seen` bytes, and move these on past it.
 * Returns -1 if the terminal ends or shows nothing for 20 s.
 */
static int wait_for(int master, const char *text, size_t *seen)
{
	for (int tries = 0; tries < 200; tries++) {
		struct pollfd event = {.fd = master, .events = POLLIN};
		shown[shown_size] = '\0';
		const char *found = strstr(shown + *seen, text);
		if (found != NULL) {
			*seen = (size_t)(found - shown) + strlen(text);
			return 0;
		}
		if (poll(&event, 1, 100) <= 0)
			continue;
		ssize_t count = read(master, shown + shown_size, sizeof(shown) - 1 - shown_size);
		if (count <= 0)
			return -1;
		shown_size += (size_t)count;
		tries = 0;
	}
	return -1;
}

static void type(int master, pid_t pid, const char *send)
{
	struct winsize size = {0};
	char typed[256];
	size_t length = 0;
	if (sscanf(send, "resize %hu %hu", &size.ws_row, &size.ws_col) == 2) {
		ioctl(master, TIOCSWINSZ, &size);
		return;
	}
	unsigned int milliseconds;
	if (sscanf(send, "pause %u", &milliseconds) == 1) {
		usleep(milliseconds * 1000);
		return;
	}
	if (strcmp(send, "term") == 0) {
		kill(pid, SIGTERM);
		return;
	}
	for (const char *at = send; *at != '\0' && length < sizeof(typed); at++) {
		if (at[0] == '\\' && at[1] == 'n') {
			typed[length++] = '\n';
			at++;
		} else if (at[0] == '\\' && at[1] == '0') {
			typed[length++] = (char)strtol((char[]){at[2], at[3], '\0'}, NULL, 8);
			at += 3;
		} else {
			typed[length++] = *at;
		}
	}
	if (write(master, typed, length) < 0)
		perror("write");
}

static int same(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
	       a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

int main(int argc, char **argv)
{
	struct winsize size = {0};
	struct termios before = {0}, after = {0};
	int next = 3;
	if (argc < 5)
		return 2;
	size.ws_row = (unsigned short)atoi(argv[1]);
	size.ws_col = (unsigned short)atoi(argv[2]);
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	grantpt(master);
	unlockpt(master);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	ioctl(master, TIOCSWINSZ, &size);
	tcgetattr(slave, &before);
	int command = next;
	while (command < argc && strcmp(argv[command], "--") != 0)
		command++;
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		dup2(slave, 0);
		dup2(slave, 1);
		dup2(slave, 2);
		close(master);
		close(slave);
		execv(argv[command + 1], argv + command + 1);
		_exit(2);
	}
	size_t seen = 0;
	for (; next + 1 < command && wait_for(master, argv[next], &seen) == 0; next += 2)
		type(master, pid, argv[next + 1]);
	int status = 0;
	for (int rounds = 0; waitpid(pid, &status, WNOHANG) == 0; rounds++) {
		if (rounds == 400) { /* 20 s without an end */
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		struct pollfd event = {.fd = master, .events = POLLIN};
		if (poll(&event, 1, 50) > 0) {
			ssize_t count =
				read(master, shown + shown_size, sizeof(shown) - 1 - shown_size);
			shown_size += count > 0 ? (size_t)count : 0;
		}
	}
	struct pollfd event = {.fd = master, .events = POLLIN};
	while (poll(&event, 1, 50) > 0) {
		ssize_t count = read(master, shown + shown_size, sizeof(shown) - 1 - shown_size);
		if (count <= 0)
			break;
		shown_size += (size_t)count;
	}
	tcgetattr(slave, &after);
	shown[shown_size] = '\0';
	for (size_t i = 0; i < shown_size; i++) {
		if (shown[i] != '\r')
			putchar(shown[i]);
	}
	if (next + 1 < command)
		printf("\nnever shown: %s", argv[next]);
	printf("\nexit %d, settings %s\n",
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	       same(&before, &after) ? "as before" : "changed");
	return 0;
}
