/* The options of `run` and `plan`, one row each; parsing, help and completion walk the table. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/parse.h"
#include "runner/cli/option_values.h"
#include "sandbox/filter/capabilities.h"

#define LARGEST_ID (UINT32_MAX - 1)

int cli_refuse(struct iso_error *err, const char *option, const char *value, const char *rule)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0, "read option --%s \"%s\": %s", option, value,
			     rule);
}

int cli_read_size(const char *option, const char *value, uint64_t *ret, struct iso_error *err)
{
	if (iso_parse_size(value, ret) < 0)
		return cli_refuse(err, option, value,
				  "a positive whole number with an optional K, M or G is needed");
	return 0;
}

static int read_count(const char *option, const char *value, uint64_t *ret, struct iso_error *err)
{
	if (iso_parse_u64_range(value, 1, INT64_MAX, ret) < 0)
		return cli_refuse(err, option, value, "a positive whole number is needed");
	return 0;
}

static int read_id(const char *option, const char *value, uint64_t *ret, struct iso_error *err)
{
	if (iso_parse_u64_range(value, 0, LARGEST_ID, ret) < 0)
		return cli_refuse(err, option, value, "a number from 0 to 4294967294 is needed");
	return 0;
}

static int apply_memory(struct cli_run *run, const char *value, struct iso_error *err)
{
	return cli_read_size("memory", value, &run->request.memory_max_bytes, err);
}

static int apply_pids(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_count("pids", value, &run->request.pids_max_count, err);
}

static int apply_cpus(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (iso_parse_cpus(value, &run->request.cpu_max_millis) < 0)
		return cli_refuse(err, "cpus", value, "a number such as 2 or 0.5 is needed");
	return 0;
}

static int apply_timeout(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (iso_parse_duration(value, &run->request.wall_limit_ms) < 0)
		return cli_refuse(
			err, "timeout", value,
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
		return cli_refuse(err, "grace", value, "a duration such as 5s, or 0, is needed");
	return 0;
}

static int apply_detached(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "kill") == 0)
		run->request.detached = ISO_DETACHED_KILL;
	else if (strcmp(value, "wait") == 0)
		run->request.detached = ISO_DETACHED_WAIT;
	else
		return cli_refuse(err, "detached", value, "kill or wait is needed");
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
		return cli_refuse(err, "workspace-mode", value, "rw or ro is needed");
	run->request.workspace_read_only = strcmp(value, "ro") == 0;
	return 0;
}

static int apply_rootfs(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->request.rootfs = strcmp(value, "host") == 0 ? NULL : value;
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
		return cli_refuse(err, "env", value, "NAME=VALUE is needed");
	return iso_strv_set_variable(&run->env, value) < 0 ? iso_error_nomem(err) : 0;
}

static int apply_pass_env(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (*value == '\0' || strchr(value, '=') != NULL)
		return cli_refuse(err, "pass-env", value, "the name of a variable is needed");
	if (iso_strv_add(&run->passed, value) < 0)
		return iso_error_nomem(err);
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
		return cli_refuse(err, "network", value, "only none is possible");
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
	(void)err;
	run->request.seccomp_profile = strcmp(value, "default") == 0 ? NULL : value;
	return 0;
}

/* What has no policy has no permission PRIVILEGED either (POL-9). */
static int apply_cap(struct cli_run *run, const char *value, struct iso_error *err)
{
	uint64_t bit = iso_capability_bit(value);
	if (bit == 0)
		return cli_refuse(err, "cap", value, "the name of a capability is needed");
	run->request.capabilities |= bit;
	return 0;
}

static int apply_nofile(struct cli_run *run, const char *value, struct iso_error *err)
{
	return read_count("nofile", value, &run->request.nofile_max_count, err);
}

static int apply_fsize(struct cli_run *run, const char *value, struct iso_error *err)
{
	return cli_read_size("fsize", value, &run->request.fsize_max_bytes, err);
}

static int apply_output_limit(struct cli_run *run, const char *value, struct iso_error *err)
{
	return cli_read_size("output-limit", value, &run->request.output_limit_bytes, err);
}

static int apply_keep(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "head") == 0)
		run->request.keep = ISO_KEEP_HEAD;
	else if (strcmp(value, "tail") == 0)
		run->request.keep = ISO_KEEP_TAIL;
	else
		return cli_refuse(err, "keep", value, "head or tail is needed");
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
		return cli_refuse(err, "receipt", value, "a file name or fd:N is needed");
	run->receipt = value;
	run->request.capture = true;
	return 0;
}

static int apply_cgroup(struct cli_run *run, const char *value, struct iso_error *err)
{
	if (strcmp(value, "required") != 0 && strcmp(value, "optional") != 0)
		return cli_refuse(err, "cgroup", value, "required or optional is needed");
	run->request.cgroup_optional = strcmp(value, "optional") == 0;
	return 0;
}

static int apply_policy(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->policy = value;
	return 0;
}

static int apply_audit(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->audit = value;
	run->request.capture = true;
	return 0;
}

static int apply_audit_key(struct cli_run *run, const char *value, struct iso_error *err)
{
	(void)err;
	run->audit_key = value;
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
	{"policy", "FILE", "what is allowed; the other options can only narrow it", apply_policy},
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
	{"ro", "PATH[:DEST]", "bind read-only", cli_apply_ro},
	{"rw", "PATH[:DEST]", "bind writable", cli_apply_rw},
	{"tmpfs", "DEST[:SIZE]", "mount an empty tmpfs", cli_apply_tmpfs},
	{"hide", "PATH", "cover with nothing", cli_apply_hide},
	{"protect", "PATH", "make a path of the workspace read-only", cli_apply_protect},
	{"protect-defaults", NULL, "the same for what git, shells, editors, CI and agents obey",
	 cli_apply_protect_defaults},
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
	{"seccomp", "default|FILE", "a second system call filter, which only narrows",
	 apply_seccomp},
	{"cap", "NAME", "leave it a capability (needs a policy with PRIVILEGED)", apply_cap},
	{"nofile", "N", "open files per process (default: 1024, raisable)", apply_nofile},
	{"fsize", "SIZE", "largest file it can write (default: none)", apply_fsize},
	{"output-limit", "SIZE", "output kept in the receipt, per stream (default: 16000)",
	 apply_output_limit},
	{"keep", "head|tail", "which part of the output is kept (default: head)", apply_keep},
	{"quiet", NULL, "no messages about how the command ended", apply_quiet},
	{"json", NULL, "print the receipt instead of the output", apply_json},
	{"receipt", "FILE|fd:N", "write the receipt there", apply_receipt},
	{"audit", "FILE", "append the request to this audit log", apply_audit},
	{"audit-key", "FILE", "sign its line with this Ed25519 key", apply_audit_key},
	{"cgroup", "required|optional", "whether to run without cgroups (default: required)",
	 apply_cgroup},
	{"help", NULL, "explain these options", apply_help},
};
const size_t cli_run_option_count = ISO_COUNT(cli_run_options);
