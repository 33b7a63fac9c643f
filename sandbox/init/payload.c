/*
 * Between vfork and the payload's exec: session, terminal, limits, working directory, Landlock, the
 * filter. The filter comes last, because it refuses some of what stands before it.
 */
#include <asm/termios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "sandbox/child/rawcall.h"
#include "sandbox/init/init.h"

#define PATH_LIMIT 4096

void *memcpy(void *target, const void *source, size_t size); /* in init.c */

static void spawn_fail(enum iso_step step, uint32_t index, long result) __attribute__((noreturn));

static void spawn_fail(enum iso_step step, uint32_t index, long result)
{
	iso_init_spawn_failure.step = step;
	iso_init_spawn_failure.index = index;
	iso_init_spawn_failure.value = (int32_t)-result;
	iso_init_spawn_failure.type = ISO_RECORD_FAILED;
	iso_init_quit(127);
}

static size_t length_until(const char *text, char end)
{
	size_t length = 0;
	while (text[length] != '\0' && text[length] != end)
		length++;
	return length;
}

/* execvp's search: the first that can be executed, else "permission denied" before "not found". */
static long search_and_execute(const char *search, char **argv, char **env)
{
	const char *name = argv[0];
	size_t name_length = length_until(name, '\0');
	if (name[length_until(name, '/')] == '/')
		return iso_raw3(SYS_execve, ISO_ARG(name), ISO_ARG(argv), ISO_ARG(env));
	if (name_length == 0)
		return -ENOENT;
	long outcome = -ENOENT;
	char path[PATH_LIMIT];
	while (*search != '\0') {
		size_t length = length_until(search, ':');
		if (length > 0 && length + name_length + 2 <= sizeof(path)) {
			memcpy(path, search, length);
			path[length] = '/';
			memcpy(path + length + 1, name, name_length + 1);
			long result =
				iso_raw3(SYS_execve, ISO_ARG(path), ISO_ARG(argv), ISO_ARG(env));
			if (result == -EACCES)
				outcome = result;
			else if (result != -ENOENT && result != -ENOTDIR)
				return result;
		}
		search += length;
		if (*search == ':')
			search++;
	}
	return outcome;
}

static void take_terminal(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		long result = iso_raw3(SYS_dup3, iso_init_terminal, fd, 0);
		if (result < 0)
			spawn_fail(ISO_STEP_TERMINAL, 0, result);
	}
	long result = iso_raw3(SYS_ioctl, 0, TIOCSCTTY, 0);
	if (result < 0)
		spawn_fail(ISO_STEP_TERMINAL, 0, result);
}

/* Rights that <linux/landlock.h> of some versions does not name yet. */
#define LANDLOCK_TRUNCATE  (1ULL << 14) /* ABI 3 */
#define LANDLOCK_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define LANDLOCK_READ \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define LANDLOCK_DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define LANDLOCK_OF_A_FILE                                           \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV)

static void allow(long ruleset, const char *path, uint64_t rights)
{
	long fd = iso_raw4(SYS_openat, AT_FDCWD, ISO_ARG(path), O_PATH | O_CLOEXEC, 0);
	struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = (int)fd};
	long result = fd < 0 ? fd
			     : iso_raw4(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
					ISO_ARG(&rule), 0);
	if (result == -EINVAL) { /* not a directory: rights of directories are refused */
		rule.allowed_access &= LANDLOCK_OF_A_FILE;
		result = iso_raw4(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
				  ISO_ARG(&rule), 0);
	}
	if (result < 0)
		spawn_fail(ISO_STEP_LANDLOCK, 0, result);
	(void)iso_raw1(SYS_close, fd);
}

/*
 * The second wall: should a mount ever be writable that was not meant to be, Landlock still says
 * no. It knows nothing of what is hidden; that stays with the mounts.
 */
static void restrict_by_landlock(void)
{
	const struct iso_init_config *config = &iso_init_message.config;
	uint64_t handled = (LANDLOCK_ACCESS_FS_REFER << 1) - 1; /* all of ABI 2 */
	if (config->landlock_abi >= 3)
		handled |= LANDLOCK_TRUNCATE;
	if (config->landlock_abi >= 5)
		handled |= LANDLOCK_IOCTL_DEV;
	const struct landlock_ruleset_attr attr = {.handled_access_fs = handled};
	long ruleset = iso_raw3(SYS_landlock_create_ruleset, ISO_ARG(&attr), sizeof(attr), 0);
	if (ruleset < 0)
		spawn_fail(ISO_STEP_LANDLOCK, 0, ruleset);
	allow(ruleset, "/", handled & LANDLOCK_READ);
	allow(ruleset, "/proc", handled & (LANDLOCK_READ | LANDLOCK_OF_A_FILE));
	allow(ruleset, "/dev", handled & (LANDLOCK_READ | LANDLOCK_OF_A_FILE));
	const char *path = iso_init_message.bytes + config->writable_offset;
	for (uint32_t i = 0; i < config->writable_count; i++) {
		allow(ruleset, path, handled & ~LANDLOCK_DEVICES);
		path += length_until(path, '\0') + 1;
	}
	long result = iso_raw2(SYS_landlock_restrict_self, ruleset, 0);
	if (result < 0)
		spawn_fail(ISO_STEP_LANDLOCK, 0, result);
	(void)iso_raw1(SYS_close, ruleset);
}

static void load_filter(uint32_t index, const char *instructions, uint32_t count)
{
	const struct sock_fprog program = {
		.len = (unsigned short)count,
		.filter = (struct sock_filter *)(void *)instructions,
	};
	long result = iso_raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, ISO_ARG(&program));
	if (result < 0)
		spawn_fail(ISO_STEP_SECCOMP, index, result);
}

void iso_init_payload(char **argv, char **env)
{
	const struct iso_init_config *config = &iso_init_message.config;
	const unsigned long no_signals = 0;
	const char *filters = iso_init_message.bytes + sizeof(*config);

	long result = iso_raw0(SYS_setsid);
	if (result < 0)
		spawn_fail(ISO_STEP_SESSION, 0, result);
	if (iso_init_terminal >= 0)
		take_terminal();
	for (uint32_t i = 0; i < config->rlimit_count; i++) {
		const uint64_t limit[2] = {config->rlimits[i].soft, config->rlimits[i].hard};
		result = iso_raw4(SYS_prlimit64, 0, config->rlimits[i].resource, ISO_ARG(limit), 0);
		if (result < 0)
			spawn_fail(ISO_STEP_RLIMIT, i, result);
	}
	(void)iso_raw4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, ISO_ARG(&no_signals), 0,
		       sizeof(no_signals)); /* cannot fail with valid arguments */
	result = iso_raw1(SYS_chdir, ISO_ARG(iso_init_message.bytes + config->workdir_offset));
	if (result < 0)
		spawn_fail(ISO_STEP_WORKDIR, 0, result);
	if (config->landlock_abi > 0)
		restrict_by_landlock();
	load_filter(0, filters, config->filter_count);
	if (config->custom_count > 0)
		load_filter(1, filters + config->filter_count * sizeof(struct sock_filter),
			    config->custom_count);
	result = search_and_execute(iso_init_message.bytes + config->path_offset, argv, env);
	spawn_fail(ISO_STEP_EXEC, 0, result);
}
