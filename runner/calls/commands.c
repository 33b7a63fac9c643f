/* shell.exec and git.diff: argument vectors of the operator's or ours, never a caller's words. */
#include <stdlib.h>
#include <string.h>

#include "policy/names.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/calls/session.h"

/* runner/calls/git_diff.sh without its comments. */
static const char git_diff_script[] =
#include "git_diff.inc"
	;

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

static int run(const struct iso_performance *performance, char *const *argv,
	       iso_result **ret_result, struct iso_error *err)
{
	const struct iso_decision *decision = performance->decision;
	struct iso_request request;
	iso_request_init(&request);
	request.argv = (const char *const *)argv;
	request.merge_streams = true;
	request.wall_limit_ms = decision->wall_limit_ms;
	request.detached = decision->detached;
	request.output_limit_bytes = decision->output_limit_bytes;
	if (iso_session_execute(performance, &request, ret_result, err) < 0)
		return -1;
	take_output(*ret_result);
	return 0;
}

int iso_perform_command(const struct iso_performance *performance, iso_result **ret_result,
			struct iso_error *err)
{
	const struct iso_policy_command *command = iso_policy_find_command(
		&performance->session->loaded.policy, performance->call->command);
	return run(performance, command->argv.items, ret_result, err);
}

int iso_perform_git_diff(const struct iso_performance *performance, iso_result **ret_result,
			 struct iso_error *err)
{
	ISO_CLEANUP(iso_strv_done) struct iso_strv argv = {0};
	if (build_git_diff(&performance->session->loaded.policy, &argv, err) < 0)
		return -1;
	return run(performance, argv.items, ret_result, err);
}
