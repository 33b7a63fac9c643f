/* A signal is taken back only where one was caused: waiting for it is a system call. */
#include "runner/base/file/write_guard.h"

#include <errno.h>
#include <time.h>

static void fill(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGPIPE);
	sigaddset(ret_set, SIGXFSZ);
}

void iso_write_guard_begin(struct iso_write_guard *ret_guard)
{
	sigset_t both;
	fill(&both);
	sigpending(&ret_guard->pending);
	pthread_sigmask(SIG_BLOCK, &both, &ret_guard->saved);
}

void iso_write_guard_end(const struct iso_write_guard *guard, int failed)
{
	int caused = failed == EPIPE ? SIGPIPE : failed == EFBIG ? SIGXFSZ : 0;
	int saved_errno = errno;
	sigset_t one;
	sigemptyset(&one);
	if (caused != 0 && sigismember(&guard->pending, caused) == 0 &&
	    sigaddset(&one, caused) == 0)
		(void)sigtimedwait(&one, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &guard->saved, NULL);
	errno = saved_errno;
}
