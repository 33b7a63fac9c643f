/* shell.exec and git.diff: argument vectors of the operator's or ours, never a caller's words. */
#include <stdlib.h>
#include <string.h>

#include "policy/names.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/calls/session.h"

/*
 * TOOL-8: git reads objects, references, the index and attributes of the repository, but a
 * configuration that is written here: no filter, text conversion, external diff, monitor, hook,
 * include, alias or pager can be named in it. It runs in the sandbox, which sees nothing beyond the
 * workspace, so that a .git or alternates that lead elsewhere lead nowhere.
 */
static const char git_diff_script[] =
	"set -eu\n"
	"root=$1 made=/tmp/git\n"
	"shift\n"
	"fail() { echo \"git.diff: $1\" >&2; exit 128; }\n"
	"export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1\n"
	"export GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat\n"
	"cd \"$root\"\n"
	"[ -e .git ] || fail 'the workspace is no git repository'\n"
	"gitdir=.git\n"
	"if [ -f .git ]; then\n"
	"  IFS= read -r line <.git || [ -n \"$line\" ]\n"
	"  gitdir=${line#gitdir: }\n"
	"fi\n"
	"gitdir=$(cd \"$gitdir\" 2>/dev/null && pwd -P) || fail '.git leads outside of the "
	"workspace'\n"
	"common=$gitdir\n"
	"if [ -f \"$gitdir/commondir\" ]; then\n"
	"  IFS= read -r line <\"$gitdir/commondir\" || [ -n \"$line\" ]\n"
	"  common=$(cd \"$gitdir\" && cd \"$line\" 2>/dev/null && pwd -P) ||\n"
	"    fail '.git leads outside of the workspace'\n"
	"fi\n"
	"for dir in \"$gitdir\" \"$common\"; do\n"
	"  case $dir/ in \"$root\"/*) ;; *) fail '.git leads outside of the workspace' ;; esac\n"
	"done\n"
	"mkdir -p \"$made/objects/info\"\n"
	"cp \"$gitdir/HEAD\" \"$made/HEAD\"\n"
	"for file in \"$gitdir\"/index \"$gitdir\"/sharedindex.*; do\n"
	"  if [ -f \"$file\" ]; then ln -s \"$file\" \"$made/\"; fi\n"
	"done\n"
	"for name in refs packed-refs shallow; do\n"
	"  if [ -e \"$common/$name\" ]; then ln -s \"$common/$name\" \"$made/\"; fi\n"
	"done\n"
	"for dir in \"$common\"/objects/*; do\n"
	"  if [ \"${dir##*/}\" != info ] && [ -e \"$dir\" ]; then ln -s \"$dir\" "
	"\"$made/objects/\"; fi\n"
	"done\n"
	"if [ -f \"$common/objects/info/alternates\" ]; then\n"
	"  while IFS= read -r line; do\n"
	"    other=$(cd \"$common/objects\" && cd \"$line\" 2>/dev/null && pwd -P) || continue\n"
	"    case $other/ in \"$root\"/*) echo \"$other\" >>\"$made/objects/info/alternates\" ;; "
	"esac\n"
	"  done <\"$common/objects/info/alternates\"\n"
	"fi\n"
	"cd /tmp\n"
	"git config --file \"$made/config\" core.repositoryformatversion 1\n"
	"git config --file \"$made/config\" core.bare false\n"
	"keys='^(core\\.(filemode|symlinks|ignorecase|autocrlf|eol)|extensions\\.objectformat)$'\n"
	"if [ -f \"$common/config\" ]; then\n"
	"  git config --file \"$common/config\" --no-includes --get-regexp \"$keys\" |\n"
	"    while read -r key value; do git config --file \"$made/config\" \"$key\" \"$value\"; "
	"done\n"
	"fi\n"
	"cd \"$root\"\n"
	"export GIT_DIR=$made GIT_WORK_TREE=$root\n"
	"exec git -c safe.directory='*' --no-pager --no-optional-locks diff --no-ext-diff "
	"--no-textconv \\\n"
	"  --no-color --ignore-submodules=dirty -- . \"$@\"\n";

/* Private names stay out of the diff: two pathspecs each, for a file and for what is below. */
static int exclude(struct iso_strv *argv, const char *name)
{
	if (strcmp(name, ".git") == 0)
		return 0;
	return iso_strv_addf(argv, ":(exclude,icase,glob)**/%s", name) < 0 ||
			       iso_strv_addf(argv, ":(exclude,icase,glob)**/%s/**", name) < 0
		       ? -1
		       : 0;
}

static int build_git_diff(const struct iso_policy *policy, struct iso_strv *argv,
			  struct iso_error *err)
{
	bool failed = iso_strv_add(argv, "/bin/sh") < 0 || iso_strv_add(argv, "-c") < 0 ||
		      iso_strv_add(argv, git_diff_script) < 0 ||
		      iso_strv_add(argv, "git.diff") < 0 || iso_strv_add(argv, policy->root) < 0 ||
		      exclude(argv, ".env.*") < 0;
	for (size_t i = 0; iso_private_names[i] != NULL && !failed; i++)
		failed = exclude(argv, iso_private_names[i]) < 0;
	for (size_t i = 0; i < policy->private_names.count && !failed; i++)
		failed = exclude(argv, policy->private_names.items[i]) < 0;
	return failed ? iso_error_nomem(err) : 0;
}

/* The merged stream is the tool's output. */
static void take_output(iso_result *result)
{
	if (!result->launched)
		return;
	result->output = result->streams[0];
	result->streams[0] = (struct iso_captured){0};
	result->has_output = true;
}

int iso_session_run_command(iso_session *session, const struct iso_call *call,
			    const struct iso_decision *decision, iso_result **result,
			    struct iso_error *err)
{
	const struct iso_policy *policy = &session->loaded.policy;
	ISO_CLEANUP(iso_strv_done) struct iso_strv argv = {0};
	struct iso_request request;
	iso_request_init(&request);
	if (call->tool->id == ISO_TOOL_GIT_DIFF) {
		if (build_git_diff(policy, &argv, err) < 0)
			return -1;
		request.argv = (const char *const *)argv.items;
	} else {
		const struct iso_policy_command *command =
			iso_policy_find_command(policy, call->command);
		request.argv = (const char *const *)command->argv.items;
	}
	request.merge_streams = true;
	request.wall_limit_ms = decision->wall_limit_ms;
	request.detached = decision->detached;
	request.output_limit_bytes = decision->output_limit_bytes;
	if (iso_session_execute(session, decision->workspace_write, &request, result, err) < 0)
		return -1;
	take_output(*result);
	return 0;
}
