/* Fork, a stream back, a deadline; then a kill, and no wait for what does not die of it. */
#include "runner/base/scout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/file/fd.h"

#define CHUNK	      ((size_t)64 * 1024)
#define DEATH_TRIES   20
#define DEATH_WAIT_US 1000

static void close_between(int low, int high)
{
	if (low <= high)
		(void)syscall(SYS_close_range, low, high, 0);
}

/* Keep the two descriptors, whatever streams stand on null. */
static void let_go_of_others(int reply_fd, int given_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (null_fd >= 0)
			(void)dup2(null_fd, fd);
		else
			(void)close(fd);
	}
	int first = given_fd >= 0 && given_fd < reply_fd ? given_fd : reply_fd;
	int second = first == reply_fd ? given_fd : reply_fd;
	close_between(STDERR_FILENO + 1, first - 1);
	if (second > first)
		close_between(first + 1, second - 1);
	close_between((second > first ? second : first) + 1, INT32_MAX);
}

static void __attribute__((noreturn)) be_scout(const struct iso_scout_work *work, int reply_fd)
{
	sigset_t none;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would read the answer */
	let_go_of_others(reply_fd, work->given_fd);
	/* No handler of the host program's runs here, and no mask of its keeps an end away. */
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &usual, NULL); /* KILL and STOP have no other */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	work->action(reply_fd, work->argument);
	_exit(0);
}

/* Kill it and, if it dies of that, reap it. */
static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	for (int i = 0; i < DEATH_TRIES; i++) {
		if (waitpid(pid, NULL, WNOHANG | __WALL) != 0)
			return;
		usleep(DEATH_WAIT_US);
	}
}

/* Read more of the answer; the size, 0 at its end, -1 with errno. */
static ssize_t receive(int fd, char *data, size_t size, int *ret_fd)
{
	struct iovec place = {data, size};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr envelope = {
		.msg_iov = &place,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t count;
	do {
		count = recvmsg(fd, &envelope, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (count < 0 && errno == EINTR);
	if (count > 0 && envelope.msg_controllen >= sizeof(control.header) &&
	    control.header.cmsg_type == SCM_RIGHTS) {
		int received;
		memcpy(&received, CMSG_DATA(&control.header), sizeof(received));
		if (ret_fd != NULL && *ret_fd < 0)
			*ret_fd = iso_fd_above_stdio(received);
		else
			iso_fd_close(received);
	}
	return count;
}

struct answer {
	char *data; /* owned */
	size_t size, capacity;
};

static int read_answer(int fd, const struct iso_patience *patience, size_t limit,
		       struct answer *answer, int *ret_fd)
{
	for (;;) {
		int ended = iso_patience_wait(patience, fd);
		if (ended != 0)
			return ended;
		if (!iso_array_reserve(&answer->data, &answer->capacity, answer->size + CHUNK, 1))
			return ENOMEM;
		ssize_t count = receive(fd, answer->data + answer->size, CHUNK, ret_fd);
		if (count == 0)
			return 0;
		if (count < 0 && errno != EAGAIN)
			return errno;
		answer->size += count > 0 ? (size_t)count : 0;
		if (answer->size > limit)
			return EFBIG;
	}
}

int iso_scout_send(const struct iso_scout_work *work, const struct iso_patience *patience,
		   size_t limit, char **ret_reply, size_t *ret_size, int *ret_fd)
{
	int pair[2];
	struct answer answer = {0};
	if (ret_fd != NULL)
		*ret_fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	ISO_AUTO_CLOSE int own_fd = iso_fd_above_stdio(pair[0]);
	ISO_AUTO_CLOSE int reply_fd = iso_fd_above_stdio(pair[1]);
	if (own_fd < 0 || reply_fd < 0)
		return errno;
	pid_t pid = fork();
	if (pid == 0)
		be_scout(work, reply_fd);
	if (pid < 0)
		return errno;
	(void)iso_fd_close(ISO_TAKE_FD(reply_fd));
	int failed = read_answer(own_fd, patience, limit, &answer, ret_fd);
	end(pid);
	if (failed != 0) {
		if (ret_fd != NULL)
			*ret_fd = iso_fd_close(*ret_fd);
		free(answer.data);
		return failed;
	}
	*ret_reply = answer.data;
	*ret_size = answer.size;
	return 0;
}

void iso_scout_send_fd(int reply_fd, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.space = {0}};
	struct iovec first = {(void *)(uintptr_t)data, 1};
	const struct msghdr envelope = {
		.msg_iov = &first,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(reply_fd, &envelope, MSG_NOSIGNAL) == 1)
		(void)iso_fd_write_all(reply_fd, (const char *)data + 1, size - 1);
}
