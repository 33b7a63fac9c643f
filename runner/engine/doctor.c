/*
 * `isorun doctor`: each thing isorun needs, found out by doing it, with the remedy where it fails;
 * and at the end a real run, which is the only proof.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json.h"
#include "runner/isorun.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/host.h"
#include "sandbox/launch/idmap.h"
#include "sandbox/launch/launch.h"

/* mount(2) flags; <sys/mount.h> clashes with <linux/mount.h>. */
#define MOUNT_REC     0x4000UL
#define MOUNT_PRIVATE 0x40000UL

/* What a check found. `needed` ones decide whether a run would work. */
struct finding {
	bool ok, needed;
	char detail[512];
	char remedy[512];
};

static void say(struct finding *finding, bool ok, const char *detail, const char *remedy)
{
	finding->ok = ok;
	snprintf(finding->detail, sizeof(finding->detail), "%s", detail);
	if (!ok && remedy != NULL)
		snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
}

static void say_error(struct finding *finding, const struct iso_error *err)
{
	say(finding, false, err->message, err->hint);
}

static void check_kernel(struct finding *finding)
{
	char text[ISO_ERRNO_TEXT_SIZE];
	struct utsname name;
	finding->needed = false; /* what matters is checked itself */
	if (uname(&name) < 0)
		say(finding, false, iso_errno_text(errno, text), NULL);
	else
		say(finding, true, name.release, NULL);
}

/* In a child: mount a fresh /proc as a run would. Its exit code is 0 or an errno. */
static int try_fresh_proc(void)
{
	int namespaces = CLONE_NEWNS | CLONE_NEWPID;
	if (iso_host_missing_capability() != NULL)
		namespaces |= CLONE_NEWUSER;
	if (unshare(namespaces) < 0)
		return 0; /* another check's matter */
	pid_t pid = fork();
	if (pid == 0) {
		(void)syscall(SYS_mount, NULL, "/", NULL, MOUNT_REC | MOUNT_PRIVATE, NULL);
		_exit(syscall(SYS_mount, "proc", "/proc", "proc", 0, NULL) == 0 ? 0 : errno);
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 0;
	return WEXITSTATUS(status);
}

static void check_proc(struct finding *finding)
{
	char text[64];
	if (iso_fd_read_small(AT_FDCWD, "/proc/self/comm", text, sizeof(text)) <= 0) {
		say(finding, false, "/proc is not readable", "mount -t proc proc /proc");
		return;
	}
	pid_t pid = fork();
	if (pid == 0)
		_exit(try_fresh_proc());
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		say(finding, false, "could not try", NULL);
	else if (WEXITSTATUS(status) == EPERM)
		say(finding, false, "parts of /proc are covered, so that no fresh one is allowed",
		    "start the container with an unmasked /proc (Docker: --security-opt "
		    "systempaths=unconfined)");
	else
		say(finding, true, "a fresh one can be mounted", NULL);
}

/* Asked with arguments that every kernel refuses, but neither with ENOSYS nor, to those who may
 * use the call, with EPERM: that is a filter of somebody else's. */
static void check_system_calls(struct finding *finding)
{
	static const struct {
		long number;
		const char *name, *since;
		bool mounts; /* EPERM is the kernel's own answer to ordinary users */
	} calls[] = {
		{SYS_clone3, "clone3", "5.3", false},
		{SYS_openat2, "openat2", "5.6", false},
		{SYS_close_range, "close_range", "5.9", false},
		{SYS_mount_setattr, "mount_setattr", "5.12", true},
		{SYS_open_tree, "open_tree", "5.2", true},
		{SYS_move_mount, "move_mount", "5.2", true},
		{SYS_fsopen, "fsopen", "5.2", true},
		{SYS_fsmount, "fsmount", "5.2", true},
		{SYS_pivot_root, "pivot_root", "2.4", true},
		{SYS_execveat, "execveat", "3.19", false},
		{SYS_memfd_create, "memfd_create", "3.17", false},
		{SYS_pidfd_open, "pidfd_open", "5.3", false},
		{SYS_unshare, "unshare", "2.6", false},
	};
	bool privileged = iso_host_missing_capability() == NULL;
	for (size_t i = 0; i < ISO_COUNT(calls); i++) {
		char detail[128];
		if (syscall(calls[i].number, -1L, 0L, 0L, 0L, 0L) >= 0)
			continue;
		if (errno == ENOSYS)
			snprintf(detail, sizeof(detail), "%s is missing (Linux %s has it)",
				 calls[i].name, calls[i].since);
		else if (errno == EPERM && (privileged || !calls[i].mounts))
			snprintf(detail, sizeof(detail), "%s is refused", calls[i].name);
		else
			continue;
		say(finding, false, detail,
		    "use Linux 5.14 or newer; in a container, let its seccomp profile pass this "
		    "call");
		return;
	}
	say(finding, true, "all that are needed are there", NULL);
}

static void check_memfd(struct finding *finding)
{
	struct iso_error err = {0};
	struct iso_launcher launcher;
	const struct iso_id_range no_ids = {0};
	if (iso_launcher_init(&launcher, &no_ids, &err) < 0) {
		say_error(finding, &err);
		return;
	}
	iso_launcher_done(&launcher);
	say(finding, true, "an executable memfd can be made", NULL);
}

static void check_identity(struct finding *finding)
{
	struct iso_host host;
	struct iso_error err = {0};
	char detail[128];
	if (iso_host_probe(&host, &err) < 0) {
		say_error(finding, &err);
		return;
	}
	const char *missing = iso_host_missing_capability();
	if (host.privileged)
		snprintf(
			detail, sizeof(detail),
			"root: each run gets %u host ids of its own, which own nothing, from %u on "
			"(%u runs at a time)",
			ISO_ID_BLOCK, host.host_ids.first, host.host_ids.block_count);
	else if (host.euid == 0)
		snprintf(detail, sizeof(detail), "uid 0 without host rights (%s%s)",
			 missing != NULL ? "lacks " : "inside a user namespace",
			 missing != NULL ? missing : "");
	else
		snprintf(detail, sizeof(detail), "ordinary user: payloads run as host uid %u",
			 host.euid);
	say(finding, true, detail, NULL);
}

/* The first setting that forbids user namespaces, with its remedy. */
static const char *user_namespace_remedy(void)
{
	static const struct {
		const char *path, *forbidding, *remedy;
	} settings[] = {
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		 "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give isorun an "
		 "AppArmor "
		 "profile with the rule \"userns,\""},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0",
		 "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0",
		 "sysctl user.max_user_namespaces=10000"},
	};
	for (size_t i = 0; i < ISO_COUNT(settings); i++) {
		char text[32];
		if (iso_fd_read_small(AT_FDCWD, settings[i].path, text, sizeof(text)) > 0 &&
		    strncmp(text, settings[i].forbidding, 1) == 0 &&
		    (text[1] == '\n' || text[1] == '\0'))
			return settings[i].remedy;
	}
	return "a container's seccomp profile may forbid unshare: run it with one that allows it";
}

static void check_user_namespaces(struct finding *finding)
{
	char text[ISO_ERRNO_TEXT_SIZE];
	pid_t pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		say(finding, false, "could not try", NULL);
	else if (WEXITSTATUS(status) != 0)
		say(finding, false, iso_errno_text(WEXITSTATUS(status), text),
		    user_namespace_remedy());
	else
		say(finding, true, "can be made", NULL);
}

static void check_cgroups(struct finding *finding)
{
	struct iso_cgroup_site site;
	struct iso_error err = {0};
	if (iso_cgroup_site_open(&site, &err) < 0) {
		say_error(finding, &err);
		return;
	}
	char detail[512];
	snprintf(detail, sizeof(detail), "%s, runs are created in %s",
		 iso_cgroup_mode_name(site.mode), site.path);
	say(finding, true, detail, NULL);
	iso_cgroup_site_done(&site);
}

static void check_seccomp(struct finding *finding)
{
	char text[ISO_ERRNO_TEXT_SIZE];
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	bool ok = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
	say(finding, ok, ok ? "filters are available" : iso_errno_text(errno, text),
	    "use a kernel with CONFIG_SECCOMP_FILTER");
}

static void check_idmap(struct finding *finding)
{
	struct iso_host host;
	finding->needed = false; /* there is a defined choice without it */
	if (iso_host_probe(&host, NULL) < 0 || !host.privileged) {
		say(finding, true, "not needed for this user", NULL);
		return;
	}
	ISO_AUTO_CLOSE int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct iso_idmap_cache idmaps;
	iso_idmap_cache_init(&idmaps, host.host_ids.first);
	bool ok = fd >= 0 && iso_idmap_can_bind(fd, &idmaps);
	iso_idmap_cache_done(&idmaps);
	say(finding, ok,
	    ok ? "the current directory's file system can be id-mapped"
	       : "the current directory's file system cannot be id-mapped",
	    "keep workspaces on ext4, xfs or btrfs, or let them belong to an ordinary user");
}

static void check_landlock(struct finding *finding)
{
	char text[ISO_ERRNO_TEXT_SIZE];
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	char detail[64];
	finding->needed = false;
	if (abi < 0) {
		say(finding, false, iso_errno_text(errno, text),
		    "boot with landlock in the kernel's lsm= list");
		return;
	}
	snprintf(detail, sizeof(detail), "ABI %ld", abi);
	say(finding, true, detail, NULL);
}

static void check_run(struct finding *finding)
{
	static const char *const argv[] = {"true", NULL};
	struct iso_request request;
	struct iso_error err = {0};
	iso_engine *engine = NULL;
	iso_result *result = NULL;
	iso_request_init(&request);
	request.argv = argv;
	request.workspace = "/usr/bin";
	request.workspace_read_only = true;
	request.wall_limit_ms = 30000;
	if (iso_engine_new(&engine, &err) < 0 ||
	    iso_engine_run(engine, &request, &result, &err) < 0)
		say_error(finding, &err);
	else if (iso_result_error(result) != NULL)
		say_error(finding, iso_result_error(result));
	else
		say(finding, true, "isorun run -- true works", NULL);
	iso_result_free(result);
	iso_engine_free(engine);
}

static const struct {
	const char *name;
	void (*check)(struct finding *finding);
} checks[] = {
	{"kernel", check_kernel},
	{"proc", check_proc},
	{"system calls", check_system_calls},
	{"memfd", check_memfd},
	{"identity", check_identity},
	{"user namespaces", check_user_namespaces},
	{"cgroups", check_cgroups},
	{"seccomp", check_seccomp},
	{"id-mapped mounts", check_idmap},
	{"landlock", check_landlock},
	{"trial run", check_run},
};

int iso_doctor(char **ret_json, bool *ret_usable, struct iso_error *err)
{
	struct iso_json json;
	bool usable = true;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "schema", "isorun.doctor/1");
	iso_json_add_text(&json, root, "version", ISORUN_VERSION);
	cJSON *list = iso_json_add_array(&json, root, "checks");
	for (size_t i = 0; i < ISO_COUNT(checks); i++) {
		struct finding finding = {.needed = true};
		checks[i].check(&finding);
		cJSON *object = iso_json_append_object(&json, list);
		iso_json_add_text(&json, object, "name", checks[i].name);
		iso_json_add_bool(&json, object, "ok", finding.ok);
		iso_json_add_bool(&json, object, "needed", finding.needed);
		iso_json_add_text(&json, object, "detail", finding.detail);
		iso_json_add_text(&json, object, "remedy",
				  finding.remedy[0] ? finding.remedy : NULL);
		usable = usable && (finding.ok || !finding.needed);
	}
	iso_json_add_bool(&json, root, "usable", usable);
	if (iso_json_end(&json, root, ret_json, err) < 0)
		return -1;
	*ret_usable = usable;
	return 0;
}
