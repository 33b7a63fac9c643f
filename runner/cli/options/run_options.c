/* The options of `run` and `plan`, and what follows from several of them together. */
#include "runner/cli/options/run_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/cli/sink.h"
#include "sandbox/filter/capabilities.h"

static int apply_env(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	if (strchr(value, '=') == NULL || *value == '=')
		return cli_refuse(err, "env", value, "NAME=VALUE is needed");
	return iso_strv_set_variable(&run->env, value) < 0 ? iso_error_nomem(err) : 0;
}

static int apply_pass_env(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
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

static int apply_root(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	(void)value;
	(void)err;
	run->request.uid = 0;
	run->request.gid = 0;
	return 0;
}

static int apply_stdin(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	bool is_word = strcmp(value, "null") == 0 || strcmp(value, "inherit") == 0;
	(void)err;
	run->stdin_file = is_word ? NULL : value; /* opened once the workspace is known */
	run->request.stdin_fd = strcmp(value, "inherit") == 0 ? STDIN_FILENO : -1;
	return 0;
}

static int apply_cap(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	uint64_t bit = iso_capability_bit(value);
	if (bit == 0)
		return cli_refuse(err, "cap", value, "the name of a capability is needed");
	run->request.capabilities |= bit;
	return 0;
}

static const struct cli_choice workspace_modes[] = {{"rw", 0}, {"ro", 1}, {0}};
static const struct cli_choice detached[] = {
	{"kill", ISO_DETACHED_KILL}, {"wait", ISO_DETACHED_WAIT}, {0}};
static const struct cli_choice keeps[] = {{"head", ISO_KEEP_HEAD}, {"tail", ISO_KEEP_TAIL}, {0}};
static const struct cli_choice cgroups[] = {{"required", 0}, {"optional", 1}, {0}};

#define RUN(member)	CLI_MEMBER(struct cli_run, member)
#define REQUEST(member) CLI_MEMBER(struct cli_run, request.member)

const struct cli_option cli_run_options[] = {
	{"policy", CLI_TEXT, RUN(policy), "FILE",
	 "what is allowed; the other options can only narrow it"},
	{"workspace", CLI_TEXT, REQUEST(workspace), "DIR",
	 "directory the command works on (default: the current one)"},
	{"workspace-mode", CLI_CHOICE, REQUEST(workspace_read_only), "rw|ro",
	 "whether it may write there (default: rw)", workspace_modes},
	{"workdir", CLI_TEXT, REQUEST(workdir), "DIR", "where it starts (default: the workspace)"},
	{"memory", CLI_SIZE, REQUEST(memory_max_bytes), "SIZE",
	 "memory limit (default: 2G or half of the machine)"},
	{"pids", CLI_COUNT, REQUEST(pids_max_count), "N", "process limit (default: 1024)"},
	{"cpus", CLI_CPUS, REQUEST(cpu_max_millis), "N", "CPU limit, such as 0.5 (default: none)"},
	{"timeout", CLI_DURATION, REQUEST(wall_limit_ms), "DURATION",
	 "wall limit, such as 90s or 10m (default: none)"},
	{"grace", CLI_DURATION_OR_0, REQUEST(grace_ms), "DURATION",
	 "from TERM to KILL at the limit (default: 2s; 0: kill at once)"},
	{"detached", CLI_CHOICE, REQUEST(detached), "kill|wait",
	 "descendants that outlive the command (default: kill)", detached},
	{"rootfs", CLI_TEXT, RUN(rootfs), "DIR|host",
	 "root file system (default: the host's system directories)"},
	{"ro", CLI_CALL, 0, 0, "PATH[:DEST]", "bind read-only", NULL, cli_apply_ro},
	{"rw", CLI_CALL, 0, 0, "PATH[:DEST]", "bind writable", NULL, cli_apply_rw},
	{"tmpfs", CLI_CALL, 0, 0, "DEST[:SIZE]", "mount an empty tmpfs", NULL, cli_apply_tmpfs},
	{"hide", CLI_CALL, 0, 0, "PATH", "cover with nothing", NULL, cli_apply_hide},
	{"protect", CLI_CALL, 0, 0, "PATH", "make a path of the workspace read-only", NULL,
	 cli_apply_protect},
	{"protect-defaults", CLI_CALL, 0, 0, NULL,
	 "the same for what git, shells, editors, CI and agents obey", NULL,
	 cli_apply_protect_defaults},
	{"diff", CLI_FLAG, RUN(diff), NULL, "say at the end what changed in the workspace"},
	{"no-diff", CLI_FLAG, RUN(no_diff), NULL,
	 "do not look what changed (the receipt has no diff then)"},
	{"env", CLI_CALL, 0, 0, "K=V", "set a variable", NULL, apply_env},
	{"pass-env", CLI_CALL, 0, 0, "K", "take a variable from outside", NULL, apply_pass_env},
	{"uid", CLI_ID, REQUEST(uid), "N", "user id seen inside (default: 1000, or the caller's)"},
	{"gid", CLI_ID, REQUEST(gid), "N", "group id seen inside"},
	{"root", CLI_CALL, 0, 0, NULL, "look like root inside (uid and gid 0)", NULL, apply_root},
	{"hostname", CLI_TEXT, REQUEST(hostname), "NAME",
	 "host name seen inside (default: isorun)"},
	{"network", CLI_TEXT, RUN(network), "none", "the network: loopback only"},
	{"stdin", CLI_CALL, 0, 0, "FILE|inherit|null", "standard input (default: null)", NULL,
	 apply_stdin},
	{"tty", CLI_FLAG, RUN(tty), NULL, "give it a terminal of its own, joined with yours"},
	{"seccomp", CLI_TEXT, RUN(seccomp), "default|FILE",
	 "a second system call filter, which only narrows"},
	{"cap", CLI_CALL, 0, 0, "NAME", "leave it a capability (needs a policy with PRIVILEGED)",
	 NULL, apply_cap},
	{"nofile", CLI_COUNT, REQUEST(nofile_max_count), "N",
	 "open files per process (default: 1024, raisable)"},
	{"fsize", CLI_SIZE, REQUEST(fsize_max_bytes), "SIZE",
	 "largest file it can write (default: none)"},
	{"output-limit", CLI_SIZE, REQUEST(output_limit_bytes), "SIZE",
	 "output kept in the receipt, per stream (default: 16000)"},
	{"keep", CLI_CHOICE, REQUEST(keep), "head|tail",
	 "which part of the output is kept (default: head)", keeps},
	{"quiet", CLI_FLAG, RUN(quiet), NULL, "no messages about how the command ended"},
	{"json", CLI_FLAG, RUN(json), NULL, "print the receipt instead of the output"},
	{"receipt", CLI_TEXT, RUN(receipt), "FILE|fd:N", "write the receipt there"},
	{"audit", CLI_TEXT, RUN(audit), "FILE", "append the request to this audit log"},
	{"audit-key", CLI_TEXT, RUN(audit_key), "FILE", "sign its line with this Ed25519 key"},
	{"cgroup", CLI_CHOICE, REQUEST(cgroup_optional), "required|optional",
	 "whether to run without cgroups (default: required)", cgroups},
	{0},
};

/* Which terminal it is, the payload must know; only a plain name is taken from outside. */
static int add_term(struct cli_run *run, struct iso_error *err)
{
	const char *term = getenv("TERM");
	if (term == NULL || *term == '\0' || iso_strv_find_variable(&run->env, "TERM") != NULL)
		return 0;
	for (const char *at = term; *at != '\0'; at++) {
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+._",
			   *at) == NULL)
			return 0;
	}
	return iso_strv_addf(&run->env, "TERM=%s", term) < 0 ? iso_error_nomem(err) : 0;
}

static int exclude(struct iso_error *err, const char *one, const char *other)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0,
			     "read options --%s and --%s: they exclude each other", one, other);
}

static int check(const struct cli_run *run, struct iso_error *err)
{
	if (run->network != NULL && strcmp(run->network, "none") != 0)
		return cli_refuse(err, "network", run->network, "only none is possible");
	if (run->receipt != NULL && *run->receipt == '\0')
		return cli_refuse(err, "receipt", run->receipt, "a file name or fd:N is needed");
	if (run->tty && run->json)
		return exclude(err, "tty", "json");
	if (run->diff && run->no_diff)
		return exclude(err, "diff", "no-diff");
	if (run->audit_key != NULL && run->audit == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read option --audit-key: it goes with --audit");
	/* What has no policy has no permission PRIVILEGED either (POL-9). */
	if (run->request.capabilities != 0 && run->policy == NULL)
		return iso_error_set(err, ISO_ERR_DENIED, 0,
				     "read option --cap: Required permission is disabled: "
				     "PRIVILEGED, which only a policy grants");
	return 0;
}

/* "host" and "default" are what holds without the option, too. */
static const char *unless(const char *value, const char *standard)
{
	return value != NULL && strcmp(value, standard) == 0 ? NULL : value;
}

int cli_run_parse(const struct cli_command *command, struct cli_run *run, char **argv,
		  char ***ret_rest, struct iso_error *err)
{
	struct iso_request *request = &run->request;
	struct iso_error fd_err = {0};
	int status = cli_options_read(command, run, argv, ret_rest, err);
	/* Now, while no descriptor is open that is our own. */
	if (cli_sink_find_fd(run->receipt, &run->receipt_fd, status == 0 ? err : &fd_err) < 0 &&
	    status == 0)
		status = -1;
	if (status != 0)
		return status;
	if (check(run, err) < 0 || (run->tty && add_term(run, err) < 0))
		return -1;
	request->rootfs = unless(run->rootfs, "host");
	request->seccomp_profile = unless(run->seccomp, "default");
	request->mounts = run->mounts;
	request->mount_count = run->mount_count;
	request->capture = run->json || run->receipt != NULL || run->audit != NULL;
	request->diff = run->diff || (request->capture && !run->no_diff);
	request->tty = run->tty;
	request->env = (const char *const *)run->env.items;
	request->argv = (const char *const *)*ret_rest;
	return 0;
}

void cli_run_init(struct cli_run *run)
{
	*run = (struct cli_run){.stdin_fd = -1, .receipt_fd = -1};
	iso_request_init(&run->request);
}

void cli_run_done(struct cli_run *run)
{
	iso_fd_close(run->stdin_fd);
	iso_writable_done(&run->writable);
	free(run->mounts);
	iso_strv_done(&run->env);
	iso_strv_done(&run->strings);
	iso_strv_done(&run->passed);
}
