/* What a test needs of the kernel: some are run inside of isorun as well (`make demo`). */
#ifndef ISORUN_TESTS_NEEDS_H
#define ISORUN_TESTS_NEEDS_H

#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/* isorun answers openat2(2) as a kernel would that does not have it. There the test is skipped; not
 * where everything must work. */
static inline void needs_openat2(void)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	const char *must = getenv("ISORUN_MUST_WORK");
	long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
	if (fd >= 0)
		close((int)fd);
	else if (errno == ENOSYS && (must == NULL || strcmp(must, "1") != 0))
		skip();
}

#endif
