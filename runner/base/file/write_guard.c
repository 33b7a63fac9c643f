/* A signal is taken back only where one was caused: waiting for it is a system call. */
#include "runner/base/file/write_guard.h"

#include <errno.h>
#include <time.h>

#include "runner/base/sigmask.h"

void iso_write_guard_begin(struct iso_write_guard *ret_guard)
{
	sigpending(&ret_guard->pending);
	ret_guard->saved = iso_sigmask_block(iso_sigmask_of(SIGPIPE) | iso_sigmask_of(SIGXFSZ));
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
	iso_sigmask_restore(guard->saved);
	errno = saved_errno;
}
