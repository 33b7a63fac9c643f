/*
 * The run's own cgroup: membership, limits, counters, kill, removal.
 *
 * Membership, kill and emptiness always go through the cgroup v2 hierarchy. Limits are v2
 * controllers on a unified host, and v1 hierarchies under the caller's own cgroups on a hybrid one.
 * Sources: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of the kernel.
 */
#ifndef ISORUN_SANDBOX_CGROUP_CGROUP_H
#define ISORUN_SANDBOX_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/plan.h"

enum iso_cgroup_mode {
	ISO_CGROUP_NONE = 0, /* no cgroup: only with --cgroup optional */
	ISO_CGROUP_UNIFIED,
	ISO_CGROUP_HYBRID,
};

/* A counter the kernel did not offer. */
#define ISO_UNKNOWN UINT64_MAX

/* The v1 hierarchies of a hybrid host. */
enum iso_v1 {
	ISO_V1_MEMORY = 0,
	ISO_V1_PIDS,
	ISO_V1_CPU,
	ISO_V1_COUNT,
};

/* Where this process may create cgroups: found once per station. */
struct iso_cgroup_site {
	enum iso_cgroup_mode mode;
	int dir_fd;		      /* owned; v2 directory in which runs are created */
	char *path;		      /* owned; its host path, for messages */
	int v1_dir_fds[ISO_V1_COUNT]; /* owned; hybrid only, -1 when that hierarchy is missing */
	int leaf_fd; /* owned, locked; the leaf that this process was moved to, or -1 */
};

/* One run's cgroup. */
struct iso_cgroup {
	enum iso_cgroup_mode mode;
	const struct iso_cgroup_site *site; /* borrowed; outlives this */
	char name[48];
	int dir_fd;		  /* owned */
	int v1_fds[ISO_V1_COUNT]; /* owned; directories, -1 where not used */
	int events_fd;		  /* owned; cgroup.events */
	int oom_fd;		  /* owned; hybrid: eventfd of v1 out-of-memory events, or -1 */
	uint64_t memory_effective_bytes, pids_effective_count, cpu_effective_millis;
};

struct iso_cgroup_usage {
	uint64_t cpu_user_us, cpu_system_us;
	uint64_t memory_peak_bytes, pids_peak_count;
	uint64_t oom_kills, pids_limit_hits;
	bool killed_from_above;	    /* with oom_kills: not its own limit was the cause */
	uint64_t limit_above_bytes; /* then: the smallest memory limit of the cgroups above, or
				     * ISO_UNLIMITED */
};

/*
 * Find where cgroups can be created. When this process is alone in its cgroup, or systemd has
 * delegated that, it moves itself, and whoever else is in a delegated one, into a leaf below (a
 * cgroup with members cannot have controllers for its children). Any number of sites share that
 * leaf; the last iso_cgroup_site_done moves the process back and removes it.
 *
 * Errors: ISO_ERR_UNSUPPORTED with the remedy in the hint; ISO_ERR_SYSTEM; ISO_ERR_NOMEM.
 */
int iso_cgroup_site_open(struct iso_cgroup_site *ret_site, struct iso_error *err);
void iso_cgroup_site_done(struct iso_cgroup_site *site);

/*
 * A cgroup in two steps, the second of which can be done while its first member is being set up:
 *
 * iso_cgroup_create  of a fresh name, in v2, for CLONE_INTO_CGROUP
 * iso_cgroup_limit   the v1 directories, which that member then joins, and the limits in force;
 *		      they are read back as effective
 *
 * Errors: ISO_ERR_SYSTEM, ISO_ERR_UNSUPPORTED. iso_cgroup_remove is for the caller to call, also
 * after a failure of the second.
 */
int iso_cgroup_create(const struct iso_cgroup_site *site, struct iso_cgroup *ret_cgroup,
		      struct iso_error *err);
int iso_cgroup_limit(struct iso_cgroup *cgroup, const struct iso_limits *limits,
		     struct iso_error *err);

/* Whether `limits` need a directory in this v1 hierarchy. */
bool iso_cgroup_uses_v1(const struct iso_cgroup *cgroup, const struct iso_limits *limits,
			enum iso_v1 v1);

/* Kill every member, also stopped, frozen and not yet visible ones. 0, or -1 with errno. */
int iso_cgroup_kill(const struct iso_cgroup *cgroup);

/* Number of member processes right now; 0 when the cgroup has vanished. */
uint64_t iso_cgroup_count(const struct iso_cgroup *cgroup);

/* Whether no member is left; also true when it has vanished. What polls `events_fd` for POLLPRI
 * afterwards hears of the next change. */
bool iso_cgroup_is_empty(const struct iso_cgroup *cgroup);

/* Wait until no member is left; 0, or -1 when `deadline_ns` (monotonic) passed first. */
int iso_cgroup_wait_empty(const struct iso_cgroup *cgroup, int64_t deadline_ns);

/* Memory charged right now, in bytes; ISO_UNKNOWN where it cannot be read. */
uint64_t iso_cgroup_memory(const struct iso_cgroup *cgroup);

/* Read the counters; what the kernel does not offer is ISO_UNKNOWN. */
void iso_cgroup_read_usage(const struct iso_cgroup *cgroup, struct iso_cgroup_usage *ret_usage);

/*
 * Remove the directories and close the descriptors. A zeroed or already removed value is fine.
 *
 * iso_cgroup_try_remove  without waiting: 0, or -1 with errno EBUSY: a killed member leaves its v1
 * 			  hierarchies a moment after v2, so try again soon; or another errno
 * iso_cgroup_remove      retrying EBUSY until `deadline_ns`; -1 with `err`: something stays
 */
int iso_cgroup_try_remove(struct iso_cgroup *cgroup);
int iso_cgroup_remove(struct iso_cgroup *cgroup, int64_t deadline_ns, struct iso_error *err);

/* How many members the kernel has killed for want of memory, by now; ISO_UNKNOWN. Somebody else's
 * want counts as well, but only kills in here do. */
uint64_t iso_cgroup_oom_kills(const struct iso_cgroup *cgroup);

/* Forget what `oom_fd` has announced, so that it announces the next. */
void iso_cgroup_take_oom(const struct iso_cgroup *cgroup);

/* Remove the cgroup directory `name` in `parent_fd` with those that somebody has made below it; one
 * that is gone is fine. 0, or -1 with errno: EBUSY while there are members. */
int iso_cgroup_remove_directory(int parent_fd, const char *name);

/*
 * Clean up after runs whose isorun was killed: kill what is left, remove the directories. A run's
 * isorun holds a lock on its cgroup as long as it lives, and only what nobody locks and is older
 * than two seconds is touched.
 *
 * iso_cgroup_sweep  those at `site`, quickly and silently: after every engine's last run
 * iso_cgroup_gc     everywhere in the hierarchies; counts runs, and -1 with the first error when
 *		     something was left behind
 */
void iso_cgroup_sweep(const struct iso_cgroup_site *site);
int iso_cgroup_gc(uint64_t *ret_removed, struct iso_error *err);

/* Members that do not go when they are killed stay in there: later sweeps are not to wait for
 * them. */
void iso_cgroup_give_up(const struct iso_cgroup *cgroup);

/* All that a stale run's name starts with. */
#define ISO_CGROUP_PREFIX "isorun-"

/* Where the v2 hierarchy is mounted, or NULL; `*ret_mode` says which kind of host that makes. */
const char *iso_cgroup_find_mount(enum iso_cgroup_mode *ret_mode);

/* Where a v1 hierarchy is mounted on a hybrid host. */
#define ISO_V1_MOUNT_SIZE 64
void iso_cgroup_v1_mount(enum iso_v1 v1, char ret_path[ISO_V1_MOUNT_SIZE]);

/* The receipt's word: "none", "unified", "hybrid". Static. */
const char *iso_cgroup_mode_name(enum iso_cgroup_mode mode);

#endif
