/* What a run has used, and why the kernel killed in it. */
#include "sandbox/cgroup/counters.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/file/fd.h"
#include "sandbox/cgroup/cgroup.h"

#define CHARGED_AT_ONCE UINT64_C(262144)    /* at most, where no smaller piece is to be had */
#define UNLIMITED_IN_V1 (UINT64_C(1) << 62) /* its largest numbers mean that */
#define LEVELS_MAX	64

/* The number after `key` and a blank at a line's start in `text`, or ISO_UNKNOWN. */
uint64_t iso_cgroup_find_value(const char *text, const char *key)
{
	size_t length = strlen(key);
	for (const char *line = text; *line != '\0';) {
		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 10);
		line = strchrnul(line, '\n');
		if (*line == '\n')
			line++;
	}
	return ISO_UNKNOWN;
}

uint64_t iso_cgroup_read_keyed(int dir_fd, const char *file, const char *key)
{
	char text[ISO_CGROUP_COUNTERS_SIZE];
	if (dir_fd < 0 || iso_fd_read_small(dir_fd, file, text, sizeof(text)) < 0)
		return ISO_UNKNOWN;
	return iso_cgroup_find_value(text, key);
}

uint64_t iso_cgroup_read_number(int dir_fd, const char *file)
{
	char text[64];
	if (dir_fd < 0 || iso_fd_read_small(dir_fd, file, text, sizeof(text)) < 0)
		return ISO_UNKNOWN;
	return strncmp(text, "max", 3) == 0 ? ISO_UNLIMITED : strtoull(text, NULL, 10);
}

uint64_t iso_cgroup_memory(const struct iso_cgroup *cgroup)
{
	return cgroup->mode == ISO_CGROUP_UNIFIED
		       ? iso_cgroup_read_number(cgroup->dir_fd, "memory.current")
		       : iso_cgroup_read_number(cgroup->v1_fds[ISO_V1_MEMORY],
						"memory.usage_in_bytes");
}

uint64_t iso_cgroup_oom_kills(const struct iso_cgroup *cgroup)
{
	return cgroup->mode == ISO_CGROUP_UNIFIED
		       ? iso_cgroup_read_keyed(cgroup->dir_fd, "memory.events", "oom_kill")
		       : iso_cgroup_read_keyed(cgroup->v1_fds[ISO_V1_MEMORY], "memory.oom_control",
					       "oom_kill");
}

void iso_cgroup_take_oom(const struct iso_cgroup *cgroup)
{
	uint64_t count;
	(void)!read(cgroup->oom_fd, &count, sizeof(count)); /* EAGAIN: it is taken */
}

/* Who is killed although its own limit was never in the way is killed for a limit above. In v1 the
 * peak tells: its counter of failures stays 0 where the limit with swap, which is the same, fails
 * first. */
static bool is_killed_from_above(const struct iso_cgroup *cgroup, uint64_t peak_bytes)
{
	if (cgroup->mode == ISO_CGROUP_UNIFIED)
		return iso_cgroup_read_keyed(cgroup->dir_fd, "memory.events.local", "oom") == 0;
	return peak_bytes != ISO_UNKNOWN &&
	       peak_bytes + CHARGED_AT_ONCE < cgroup->memory_effective_bytes;
}

/* The smallest limit of those above, up to where there is none any more. */
static uint64_t find_limit_above(const struct iso_cgroup *cgroup)
{
	bool unified = cgroup->mode == ISO_CGROUP_UNIFIED;
	const char *file = unified ? "memory.max" : "memory.limit_in_bytes";
	int site_fd = unified ? cgroup->site->dir_fd : cgroup->site->v1_dir_fds[ISO_V1_MEMORY];
	uint64_t smallest = ISO_UNLIMITED;
	int fd = openat(site_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int level = 0; fd >= 0 && level < LEVELS_MAX; level++) {
		uint64_t limit = iso_cgroup_read_number(fd, file);
		if (limit == ISO_UNKNOWN)
			break;
		if (limit < smallest && limit < UNLIMITED_IN_V1)
			smallest = limit;
		int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		iso_fd_close(fd);
		fd = above;
	}
	iso_fd_close(fd);
	return smallest;
}

void iso_cgroup_read_usage(const struct iso_cgroup *cgroup, struct iso_cgroup_usage *ret_usage)
{
	bool unified = cgroup->mode == ISO_CGROUP_UNIFIED;
	int memory_fd = unified ? cgroup->dir_fd : cgroup->v1_fds[ISO_V1_MEMORY];
	int pids_fd = unified ? cgroup->dir_fd : cgroup->v1_fds[ISO_V1_PIDS];
	/* Read once: the kernel sums it up over all processors each time. */
	char cpu[ISO_CGROUP_COUNTERS_SIZE];
	bool has_cpu = iso_fd_read_small(cgroup->dir_fd, "cpu.stat", cpu, sizeof(cpu)) >= 0;
	struct iso_cgroup_usage usage = {
		.cpu_user_us = has_cpu ? iso_cgroup_find_value(cpu, "user_usec") : ISO_UNKNOWN,
		.cpu_system_us = has_cpu ? iso_cgroup_find_value(cpu, "system_usec") : ISO_UNKNOWN,
		.memory_peak_bytes = iso_cgroup_read_number(
			memory_fd, unified ? "memory.peak" : "memory.max_usage_in_bytes"),
		.oom_kills = iso_cgroup_oom_kills(cgroup),
		.pids_peak_count = iso_cgroup_read_number(pids_fd, "pids.peak"),
		.pids_limit_hits = iso_cgroup_read_keyed(pids_fd, "pids.events", "max"),
	};
	if (usage.pids_peak_count != ISO_UNKNOWN && usage.pids_peak_count >= ISO_CGROUP_INIT_COUNT)
		usage.pids_peak_count -= ISO_CGROUP_INIT_COUNT;
	if (usage.oom_kills != ISO_UNKNOWN && usage.oom_kills > 0 &&
	    is_killed_from_above(cgroup, usage.memory_peak_bytes)) {
		usage.killed_from_above = true;
		usage.limit_above_bytes = find_limit_above(cgroup);
	}
	*ret_usage = usage;
}
