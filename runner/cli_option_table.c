/* The options of `run` and `plan`, one row each; parsing, help and completion walk the table. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/fd.h"
#include "runner/base/parse.h"
#include "runner/cli.h"

#define LARGEST_ID (UINT32_MAX - 1)

static int refuse(struct iso_error *err, const char *option, const char *value, const char *rule)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0, "read option --%s \"%s\": %s", option, value,
			     rule);
}

static int read_size(const char *option, const char *value, uint64_t *ret, struct iso_error *err)
{
	if (iso_parse_size(value, ret) < 0)
		return refuse(err, option, value,
			      "a positive whole number with an optional K, M or G is needed");
	return 0;
}

static int read_count(const char *option, const char *value, uint64_t *ret, struct iso_error *err)
{
	if (iso_parse_u64_range(value, 1, INT64_MAX, ret) < 0)
		return refuse(err, option, value, "a positive whole number is needed");
	return 0;
}

static int read_id(const char *option, const char *value, uint64_t *ret, struct iso_error *err)
{
	if (iso_parse_u64_range(value, 0, LARGEST_ID, ret) < 0)
		return refuse(err, option, value, "a number from 0 to 4294967294 is needed");
	return 0;
}

static int apply_memory(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_size("memory", value, &run->request.memory_max_bytes, err);
}

static int apply_pids(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_count("pids", value, &run->request.pids_max_count, err);
}

static int apply_cpus(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (iso_parse_cpus(value, &run->request.cpu_max_millis) < 0)
		return refuse(err, "cpus", value, "a number such as 2 or 0.5 is needed");
	return 0;
}

static int apply_timeout(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (iso_parse_duration(value, &run->request.wall_limit_ms) < 0)
		return refuse(err, "timeout", value,
			      "a positive duration such as 90, 1.5s, 200ms, 10m or 1h is needed");
	return 0;
}

static int apply_grace(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "0") == 0) {
		run->request.grace_ms = 0;
		return 0;
	}
	if (iso_parse_duration(value, &run->request.grace_ms) < 0)
		return refuse(err, "grace", value, "a duration such as 5s, or 0, is needed");
	return 0;
}

static int apply_detached(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "kill") == 0)
		run->request.detached = ISO_DETACHED_KILL;
	else if (strcmp(value, "wait") == 0)
		run->request.detached = ISO_DETACHED_WAIT;
	else
		return refuse(err, "detached", value, "kill or wait is needed");
	return 0;
}

static int apply_workspace(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->request.workspace = value;
	return 0;
}

static int apply_workdir(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->request.workdir = value;
	return 0;
}

static int apply_workspace_mode(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "ro") != 0 && strcmp(value, "rw") != 0)
		return refuse(err, "workspace-mode", value, "rw or ro is needed");
	run->request.workspace_read_only = strcmp(value, "ro") == 0;
	return 0;
}

static int apply_rootfs(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->request.rootfs = strcmp(value, "host") == 0 ? NULL : value;
	return 0;
}

/* Remember a string that the request will borrow. */
static const char *keep_string(struct cli_run *run, const char *text)
{
	if (iso_strv_add(&run->strings, text) < 0)
		return NULL;
	return run->strings.items[run->strings.count - 1];
}

static struct iso_mount *add_mount(struct cli_run *run, enum iso_mount_kind kind,
				   struct iso_error *err)
{
	struct iso_mount *grown =
		reallocarray(run->mounts, run->mount_count + 1, sizeof(*run->mounts));
	if (grown == NULL) {
		iso_error_nomem(err);
		return NULL;
	}
	run->mounts = grown;
	struct iso_mount *mount = &grown[run->mount_count++];
	*mount = (struct iso_mount){.kind = kind};
	run->request.mounts = run->mounts;
	run->request.mount_count = run->mount_count;
	return mount;
}

/* "LEFT[:RIGHT]": split at the last colon; both parts must be there when it is. */
static int split(struct cli_run *run, const char *option, const char *value, const char **ret_left,
		 const char **ret_right, struct iso_error *err)
{
	ISO_AUTO_FREE char *copy = strdup(value);
	if (copy == NULL)
		return iso_error_nomem(err);
	char *colon = strrchr(copy, ':');
	if (colon != NULL)
		*colon++ = '\0';
	if (*copy == '\0' || (colon != NULL && *colon == '\0'))
		return refuse(err, option, value, "a part of it is empty");
	*ret_left = keep_string(run, copy);
	*ret_right = colon != NULL ? keep_string(run, colon) : NULL;
	if (*ret_left == NULL || (colon != NULL && *ret_right == NULL))
		return iso_error_nomem(err);
	return 0;
}

static int apply_bind(struct cli_run *run, enum iso_mount_kind kind, const char *option,
		      const char *value, struct iso_error *err)
{
	const char *source, *target;
	if (split(run, option, value, &source, &target, err) < 0)
		return -1;
	struct iso_mount *mount = add_mount(run, kind, err);
	if (mount == NULL)
		return -1;
	mount->source = source;
	mount->target = target;
	return 0;
}

static int apply_ro(struct cli_run *run, const char *value, struct iso_error *err)
{
	return apply_bind(run, ISO_MOUNT_RO, "ro", value, err);
}

static int apply_rw(struct cli_run *run, const char *value, struct iso_error *err)
{
	return apply_bind(run, ISO_MOUNT_RW, "rw", value, err);
}

static int apply_tmpfs(struct cli_run *run, const char *value, struct iso_error *err)
{
	const char *target, *size;
	uint64_t bytes = 0;
	if (split(run, "tmpfs", value, &target, &size, err) < 0)
		return -1;
	if (size != NULL && read_size("tmpfs", size, &bytes, err) < 0)
		return -1;
	struct iso_mount *mount = add_mount(run, ISO_MOUNT_TMPFS, err);
	if (mount == NULL)
		return -1;
	mount->target = target;
	mount->size_bytes = bytes;
	return 0;
}

static int apply_hide(struct cli_run *run, const char *value, struct iso_error *err)
{
	struct iso_mount *mount = add_mount(run, ISO_MOUNT_HIDE, err);
	if (mount == NULL)
		return -1;
	mount->target = value;
	return 0;
}

static int add_protection(struct cli_run *run, const char *path, struct iso_error *err)
{
	struct iso_mount *mount = add_mount(run, ISO_MOUNT_PROTECT, err);
	if (mount == NULL)
		return -1;
	mount->target = path;
	return 0;
}

static int apply_protect(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (*value == '\0')
		return refuse(err, "protect", value, "a path in the workspace is needed");
	return add_protection(run, value, err);
}

/* What an agent has no business to change: what others would obey later. */
static int apply_protect_defaults(struct cli_run *run, const char *value, struct iso_error *err)
{
	static const char *const paths[] = {
		".git/hooks",
		".git/config",
		".gitmodules",
		".husky",
		".github/workflows",
		".gitlab-ci.yml",
		".circleci",
		".vscode",
		".idea",
		".devcontainer",
		".claude",
		".cursor",
		".codex",
		".mcp.json",
		".envrc",
		".bashrc",
		".bash_profile",
		".profile",
		".zshrc",
		".zshenv",
		".npmrc",
		".pypirc",
		".pre-commit-config.yaml",
	};
	(void)value;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (add_protection(run, paths[i], err) < 0)
			return -1;
	}
	return 0;
}

static int apply_tty(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->tty = true;
	return 0;
}

static int apply_diff(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->diff = true;
	return 0;
}

static int apply_no_diff(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->no_diff = true;
	return 0;
}

static int apply_env(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strchr(value, '=') == NULL || *value == '=')
		return refuse(err, "env", value, "NAME=VALUE is needed");
	return iso_strv_set_variable(&run->env, value) < 0 ? iso_error_nomem(err) : 0;
}

static int apply_pass_env(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (*value == '\0' || strchr(value, '=') != NULL)
		return refuse(err, "pass-env", value, "the name of a variable is needed");
	const char *current = getenv(value);
	if (current == NULL)
		return 0; /* not set outside: not set inside */
	ISO_AUTO_FREE char *assignment = iso_strf("%s=%s", value, current);
	if (assignment == NULL || iso_strv_set_variable(&run->env, assignment) < 0)
		return iso_error_nomem(err);
	return 0;
}

static int apply_uid(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_id("uid", value, &run->request.uid, err);
}

static int apply_gid(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_id("gid", value, &run->request.gid, err);
}

static int apply_root(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->request.uid = 0;
	run->request.gid = 0;
	return 0;
}

static int apply_hostname(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->request.hostname = value;
	return 0;
}

static int apply_network(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)run;
	if (strcmp(value, "none") != 0)
		return refuse(err, "network", value, "only none is possible");
	return 0;
}

static int apply_stdin(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (run->stdin_fd > STDERR_FILENO)
		run->stdin_fd = iso_fd_close(run->stdin_fd);
	if (strcmp(value, "null") == 0) {
		run->stdin_fd = -1;
	} else if (strcmp(value, "inherit") == 0) {
		run->stdin_fd = STDIN_FILENO;
	} else {
		run->stdin_fd = open(value, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (run->stdin_fd < 0)
			return iso_error_set(err, ISO_ERR_INVALID, errno, "open \"%s\" for --stdin",
					     value);
	}
	run->request.stdin_fd = run->stdin_fd;
	return 0;
}

static int apply_seccomp(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)run;
	if (strcmp(value, "default") != 0)
		return refuse(err, "seccomp", value, "only default is possible");
	return 0;
}

static int apply_nofile(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_count("nofile", value, &run->request.nofile_max_count, err);
}

static int apply_fsize(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_size("fsize", value, &run->request.fsize_max_bytes, err);
}

static int apply_output_limit(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_size("output-limit", value, &run->request.output_limit_bytes, err);
}

static int apply_keep(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "head") == 0)
		run->request.keep = ISO_KEEP_HEAD;
	else if (strcmp(value, "tail") == 0)
		run->request.keep = ISO_KEEP_TAIL;
	else
		return refuse(err, "keep", value, "head or tail is needed");
	return 0;
}

static int apply_quiet(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->quiet = true;
	return 0;
}

static int apply_json(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->json = true;
	run->request.capture = true;
	return 0;
}

static int apply_receipt(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (*value == '\0')
		return refuse(err, "receipt", value, "a file name or fd:N is needed");
	run->receipt = value;
	run->request.capture = true;
	return 0;
}

static int apply_cgroup(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "required") != 0 && strcmp(value, "optional") != 0)
		return refuse(err, "cgroup", value, "required or optional is needed");
	run->request.cgroup_optional = strcmp(value, "optional") == 0;
	return 0;
}

static int apply_help(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)value;
	(void)err;
	run->help = true;
	return 0;
}

const struct cli_option cli_run_options[] = {
	{"workspace", "DIR", "directory the command works on (default: the current one)",
	 apply_workspace},
	{"workspace-mode", "rw|ro", "whether it may write there (default: rw)",
	 apply_workspace_mode},
	{"workdir", "DIR", "where it starts (default: the workspace)", apply_workdir},
	{"memory", "SIZE", "memory limit (default: 2G or half of the machine)", apply_memory},
	{"pids", "N", "process limit (default: 1024)", apply_pids},
	{"cpus", "N", "CPU limit, such as 0.5 (default: none)", apply_cpus},
	{"timeout", "DURATION", "wall limit, such as 90s or 10m (default: none)", apply_timeout},
	{"grace", "DURATION", "from TERM to KILL at the limit (default: 2s; 0: kill at once)",
	 apply_grace},
	{"detached", "kill|wait", "descendants that outlive the command (default: kill)",
	 apply_detached},
	{"rootfs", "DIR|host", "root file system (default: the host's system directories)",
	 apply_rootfs},
	{"ro", "PATH[:DEST]", "bind read-only", apply_ro},
	{"rw", "PATH[:DEST]", "bind writable", apply_rw},
	{"tmpfs", "DEST[:SIZE]", "mount an empty tmpfs", apply_tmpfs},
	{"hide", "PATH", "cover with nothing", apply_hide},
	{"protect", "PATH", "make a path of the workspace read-only", apply_protect},
	{"protect-defaults", NULL, "the same for what git, shells, editors, CI and agents obey",
	 apply_protect_defaults},
	{"diff", NULL, "say at the end what changed in the workspace", apply_diff},
	{"no-diff", NULL, "do not look what changed (the receipt has no diff then)", apply_no_diff},
	{"env", "K=V", "set a variable", apply_env},
	{"pass-env", "K", "take a variable from outside", apply_pass_env},
	{"uid", "N", "user id seen inside (default: 1000, or the caller's)", apply_uid},
	{"gid", "N", "group id seen inside", apply_gid},
	{"root", NULL, "look like root inside (uid and gid 0)", apply_root},
	{"hostname", "NAME", "host name seen inside (default: isorun)", apply_hostname},
	{"network", "none", "the network: loopback only", apply_network},
	{"stdin", "FILE|inherit|null", "standard input (default: null)", apply_stdin},
	{"tty", NULL, "give it a terminal of its own, joined with yours", apply_tty},
	{"seccomp", "default", "system call filter", apply_seccomp},
	{"nofile", "N", "open files per process (default: 1024, raisable)", apply_nofile},
	{"fsize", "SIZE", "largest file it can write (default: none)", apply_fsize},
	{"output-limit", "SIZE", "output kept in the receipt, per stream (default: 16000)",
	 apply_output_limit},
	{"keep", "head|tail", "which part of the output is kept (default: head)", apply_keep},
	{"quiet", NULL, "no messages about how the command ended", apply_quiet},
	{"json", NULL, "print the receipt instead of the output", apply_json},
	{"receipt", "FILE|fd:N", "write the receipt there", apply_receipt},
	{"cgroup", "required|optional", "whether to run without cgroups (default: required)",
	 apply_cgroup},
	{"help", NULL, "explain these options", apply_help},
};
const size_t cli_run_option_count = sizeof(cli_run_options) / sizeof(cli_run_options[0]);
