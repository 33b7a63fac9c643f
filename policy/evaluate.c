/* Rules in the order in which they are asked; the first that refuses decides. */
#include "policy/evaluate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/egress.h"
#include "policy/names.h"
#include "policy/shell/shellcheck.h"
#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"

/* What every rule sees. A rule that has no objection returns true and leaves the decision alone. */
typedef bool rule(const struct iso_policy *policy, const struct iso_call *call, const char *workdir,
		  struct iso_decision *decision);

static bool refuse(struct iso_decision *decision, const char *name, const char *sentence)
{
	decision->allowed = false;
	decision->rule = name;
	snprintf(decision->sentence, sizeof(decision->sentence), "%s", sentence);
	return false;
}

static bool allow_permissions(const struct iso_policy *policy, const struct iso_call *call,
			      const char *workdir, struct iso_decision *decision)
{
	(void)workdir;
	uint32_t needed = call->tool->permissions;
	return (policy->permissions & needed) == needed ||
	       refuse(decision, "TOOL-1", "Required permission is disabled");
}

static bool runs_commands(const struct iso_call *call)
{
	return call->tool->id == ISO_TOOL_EXEC || call->tool->id == ISO_TOOL_BASH;
}

static bool allow_privileges(const struct iso_policy *policy, const struct iso_call *call,
			     const char *workdir, struct iso_decision *decision)
{
	(void)workdir;
	bool wanted = runs_commands(call) && policy->capabilities.count > 0;
	return !wanted || (policy->permissions & ISO_PERMISSION_PRIVILEGED) != 0 ||
	       refuse(decision, "POL-9",
		      "Required permission is disabled: PRIVILEGED, for the capabilities");
}

static bool allow_path(const struct iso_policy *policy, const struct iso_call *call,
		       const char *workdir, struct iso_decision *decision)
{
	(void)workdir;
	if (call->path == NULL)
		return true;
	if (!iso_name_is_relative(call->path))
		return refuse(decision, "PATH-1", "Only relative workspace paths are accepted");
	return !iso_name_is_private(call->path, &policy->private_names) ||
	       refuse(decision, "PATH-3", "Private or control path is excluded");
}

static bool allow_size(const struct iso_policy *policy, const struct iso_call *call,
		       const char *workdir, struct iso_decision *decision)
{
	(void)workdir;
	return call->text == NULL || strlen(call->text) <= policy->max_file_bytes ||
	       refuse(decision, "POL-2", "File exceeds configured write limit");
}

static bool allow_command(const struct iso_policy *policy, const struct iso_call *call,
			  const char *workdir, struct iso_decision *decision)
{
	(void)workdir;
	return call->tool->id != ISO_TOOL_EXEC ||
	       iso_policy_find_command(policy, call->command) != NULL ||
	       refuse(decision, "TOOL-7", "Command is not configured by the owner");
}

static bool allow_timeout(const struct iso_policy *policy, const struct iso_call *call,
			  const char *workdir, struct iso_decision *decision)
{
	(void)workdir;
	return !call->has_timeout || call->timeout_ms <= policy->bash_timeout_ms ||
	       refuse(decision, "RUN-7", "The timeout exceeds what the policy allows");
}

static bool allow_shell(const struct iso_policy *policy, const struct iso_call *call,
			const char *workdir, struct iso_decision *decision)
{
	struct iso_error reason = {0};
	if (call->tool->id != ISO_TOOL_BASH)
		return true;
	if (call->command[strspn(call->command, " \t\r\n")] == '\0')
		return refuse(decision, "RUN-9", "The command is blank");
	if (iso_shell_check(call->command, policy->root, workdir != NULL ? workdir : policy->root,
			    &reason) < 0)
		return refuse(decision, "SHELL-1", reason.message);
	return true;
}

static bool allow_hosts(const struct iso_policy *policy, const struct iso_call *call,
			const char *workdir, struct iso_decision *decision)
{
	static const struct iso_strv nothing = {NULL, 0};
	struct iso_error reason = {0};
	(void)workdir;
	if (call->tool->id != ISO_TOOL_BASH)
		return true;
	/* Without NETWORK the list does not count (NET-2). */
	bool network = (policy->permissions & ISO_PERMISSION_NETWORK) != 0;
	return iso_egress_check(network ? &policy->network_allow : &nothing, call->command,
				&reason) == 0 ||
	       refuse(decision, "NET-1", reason.message);
}

static rule *const rules[] = {
	allow_permissions, allow_privileges, allow_path,  allow_size,
	allow_command,	   allow_timeout,    allow_shell, allow_hosts,
};

static uint64_t wall_limit(const struct iso_policy *policy, const struct iso_call *call)
{
	switch (call->tool->id) {
	case ISO_TOOL_EXEC:
	case ISO_TOOL_GIT_DIFF:
		return policy->timeout_ms;
	case ISO_TOOL_BASH:
		return call->has_timeout ? call->timeout_ms : policy->bash_timeout_ms;
	default:
		return 0;
	}
}

/* RUN-7: what the policy says, else what fits the tool. */
static enum iso_detached detached(const struct iso_policy *policy, const struct iso_call *call)
{
	if (policy->detached_given)
		return policy->detached;
	return call->tool->id == ISO_TOOL_BASH ? ISO_DETACHED_WAIT : ISO_DETACHED_KILL;
}

void iso_evaluate(const struct iso_policy *policy, const struct iso_call *call, const char *workdir,
		  struct iso_decision *ret_decision)
{
	*ret_decision = (struct iso_decision){
		.allowed = true,
		.rule = "TOOL-1",
		.workspace_write =
			runs_commands(call) && (policy->permissions & ISO_PERMISSION_WRITE) != 0,
		.wall_limit_ms = wall_limit(policy, call),
		.output_limit_bytes = policy->output_limit_bytes,
		.detached = detached(policy, call),
	};
	for (size_t i = 0; i < ISO_COUNT(rules); i++) {
		if (!rules[i](policy, call, workdir, ret_decision))
			return;
	}
	snprintf(ret_decision->sentence, sizeof(ret_decision->sentence), "%s is permitted%s",
		 call->tool->name,
		 call->tool->id == ISO_TOOL_BASH
			 ? ", once the authority has given and consumed a capability"
			 : "");
}

static int print_permissions(uint32_t permissions, struct iso_strv *lines, const char *before)
{
	char text[128] = "", *end = text;
	for (unsigned int number = 0; number < ISO_PERMISSION_COUNT; number++) {
		if ((permissions & UINT32_C(1) << number) == 0)
			continue;
		if (end > text)
			end = stpcpy(end, " ");
		end = stpcpy(end, iso_permission_name(number)); /* six words fit */
	}
	return iso_strv_addf(lines, "%s%s", before, text[0] != '\0' ? text : "none");
}

static int explain(const struct iso_policy *policy, const struct iso_call *call,
		   const struct iso_decision *decision, struct iso_strv *lines)
{
	if (iso_strv_addf(lines, "%s: %s", call->tool->name,
			  decision->allowed ? "allowed" : "denied") < 0 ||
	    iso_strv_addf(lines, "rule: %s", decision->rule) < 0 ||
	    iso_strv_addf(lines, "because: %s", decision->sentence) < 0 ||
	    print_permissions(call->tool->permissions, lines, "needs: ") < 0 ||
	    print_permissions(policy->permissions, lines, "policy grants: ") < 0)
		return -1;
	if (!decision->allowed)
		return 0;
	if (decision->wall_limit_ms != 0 &&
	    (iso_strv_addf(lines, "wall limit: %" PRIu64 " ms", decision->wall_limit_ms) < 0 ||
	     iso_strv_addf(lines, "workspace: %s",
			   decision->workspace_write ? "writable" : "read-only") < 0 ||
	     iso_strv_addf(lines, "descendants that stay: %s",
			   decision->detached == ISO_DETACHED_WAIT ? "waited for" : "killed") < 0))
		return -1;
	return iso_strv_addf(lines, "output kept: %" PRIu64 " bytes", decision->output_limit_bytes);
}

int iso_decision_explain(const struct iso_policy *policy, const struct iso_call *call,
			 const struct iso_decision *decision, char **ret_text,
			 struct iso_error *err)
{
	ISO_CLEANUP(iso_strv_done) struct iso_strv lines = {0};
	if (explain(policy, call, decision, &lines) < 0)
		return iso_error_nomem(err);
	char *text = iso_strv_join(&lines, "\n");
	if (text == NULL)
		return iso_error_nomem(err);
	*ret_text = text;
	return 0;
}
