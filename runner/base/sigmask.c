/* Neither call can fail: the arguments are good. */
#include "runner/base/sigmask.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t iso_sigmask_block(uint64_t mask)
{
	uint64_t saved = 0;
	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &saved, sizeof(mask));
	return saved;
}

void iso_sigmask_restore(uint64_t saved)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved));
}
