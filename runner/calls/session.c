/*
 * The story of a tool call: read, remember, decide, run, record, answer. Every path ends in one
 * receipt; what could not be recorded is said in it.
 */
#include "runner/calls/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/ledger/open.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/base/random.h"
#include "runner/base/text/utf8.h"
#include "runner/plan/build.h"
#include "runner/workspace/file_tools.h"

void iso_session_options_init(struct iso_session_options *ret_options)
{
	*ret_options = (struct iso_session_options){.cancel_fd = -1};
}

static int open_audit(iso_session *session, const struct iso_session_options *options,
		      struct iso_error *err)
{
	const struct iso_policy *policy = &session->loaded.policy;
	if (options->audit == NULL)
		return policy->audit_required
			       ? iso_error_set(err, ISO_ERR_INVALID, 0,
					       "open the audit log: the policy requires one, and "
					       "none is named (--audit FILE)")
			       : 0;
	if (iso_audit_open(options->audit, options->audit_key, policy->root,
			   !options->audit_no_sync, &session->audit, err) < 0)
		return -1;
	session->has_audit = true;
	return 0;
}

static int open_authority(iso_session *session, const struct iso_session_options *options,
			  struct iso_error *err)
{
	const char *prefix = "unix:";
	if (options->authority == NULL) {
		session->authority.builtin = &session->builtin;
		return iso_builtin_authority_open(&session->loaded, options->state_dir,
						  &session->builtin, err);
	}
	if (strncmp(options->authority, prefix, strlen(prefix)) != 0)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "use \"%s\" as authority: unix:PATH is needed",
				     options->authority);
	session->authority_path = strdup(options->authority + strlen(prefix));
	session->authority.socket_path = session->authority_path;
	return session->authority_path == NULL ? iso_error_nomem(err) : 0;
}

static int name_generation(iso_session *session, const char *given, struct iso_error *err)
{
	char random[ISO_RANDOM_HEX_SIZE(16)];
	if (iso_random_hex(16, random) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	session->generation = strdup(given != NULL ? given : random);
	return session->generation == NULL ? iso_error_nomem(err) : 0;
}

int iso_session_new(const struct iso_session_options *options, iso_session **ret_session,
		    struct iso_error *err)
{
	iso_session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return iso_error_nomem(err);
	session->memory.state.fd = -1;
	session->builtin.tokens.fd = -1;
	session->audit.fd = -1;
	session->loaded.workspace.root_fd = -1;
	session->cancel_fd = options->cancel_fd;
	pthread_mutex_init(&session->lock, NULL);
	if (options->policy == NULL) {
		iso_error_set(err, ISO_ERR_INVALID, 0, "read the policy: none is named");
		iso_session_free(session);
		return -1;
	}
	if (iso_policy_load(options->policy, &session->loaded, err) < 0 ||
	    open_audit(session, options, err) < 0 || open_authority(session, options, err) < 0 ||
	    iso_call_memory_open(options->state_dir, &session->memory, err) < 0 ||
	    name_generation(session, options->generation, err) < 0) {
		iso_session_free(session);
		return -1;
	}
	*ret_session = session;
	return 0;
}

void iso_session_free(iso_session *session)
{
	if (session == NULL)
		return;
	for (size_t i = 0; i < session->idle_count; i++)
		iso_engine_free(session->idle[i]);
	iso_call_memory_close(&session->memory);
	iso_builtin_authority_close(&session->builtin);
	if (session->has_audit)
		iso_audit_log_close(&session->audit);
	iso_replay_done(&session->replay);
	free(session->authority_path);
	free(session->generation);
	iso_policy_unload(&session->loaded);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

static int take_engine(iso_session *session, iso_engine **ret_engine, struct iso_error *err)
{
	iso_engine *engine = NULL;
	pthread_mutex_lock(&session->lock);
	if (session->idle_count > 0)
		engine = session->idle[--session->idle_count];
	pthread_mutex_unlock(&session->lock);
	if (engine == NULL)
		return iso_engine_new(ret_engine, err);
	*ret_engine = engine;
	return 0;
}

static void give_engine(iso_session *session, iso_engine *engine)
{
	pthread_mutex_lock(&session->lock);
	if (session->idle_count < ISO_IDLE_ENGINES) {
		session->idle[session->idle_count++] = engine;
		engine = NULL;
	}
	pthread_mutex_unlock(&session->lock);
	iso_engine_free(engine);
}

int iso_session_execute(iso_session *session, bool workspace_write, struct iso_request *request,
			iso_result **ret_result, struct iso_error *err)
{
	ISO_CLEANUP(iso_policy_request_done) struct iso_policy_request storage = {0};
	struct iso_error reason = {0};
	iso_engine *engine;
	if (iso_policy_fill_request(&session->loaded, workspace_write, &storage, request, &reason) <
		    0 ||
	    take_engine(session, &engine, &reason) < 0)
		return iso_result_new_refused(&reason, ret_result, err);
	request->capture = true;
	request->diff = true;
	request->cancel_fd = session->cancel_fd;
	int status = iso_engine_run(engine, request, ret_result, err);
	give_engine(session, engine);
	return status;
}

/* The directory in which host.bash is to run, canonical: the caller frees. */
static int resolve_workdir(const iso_session *session, const char *workdir, char **ret_path,
			   struct iso_error *err)
{
	const char *root = session->loaded.policy.root;
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (iso_named_path_open(workdir != NULL ? workdir : root, "the working directory", &named,
				err) < 0)
		return -1;
	if (!S_ISDIR(named.mode))
		return iso_error_set(err, ISO_ERR_INVALID, ENOTDIR,
				     "open the working directory \"%s\"", named.path);
	if (!iso_path_is_beneath(named.path, root))
		return iso_error_set(err, ISO_ERR_DENIED, 0,
				     "Working directory is outside the allowed root: \"%s\"",
				     named.path);
	*ret_path = strdup(named.path);
	return *ret_path == NULL ? iso_error_nomem(err) : 0;
}

/* The first `output_limit` bytes of a tool's answer, and the digest of all of it (TOOL-3). */
static int keep_output(iso_result *result, const struct iso_text *text, uint64_t limit,
		       struct iso_error *err)
{
	struct iso_captured *output = &result->output;
	bool too_long = text->size > limit;
	size_t size = too_long ? iso_utf8_trim_end((const uint8_t *)text->data, (size_t)limit)
			       : text->size;
	output->data = malloc(size + 1);
	if (output->data == NULL)
		return iso_error_nomem(err);
	memcpy(output->data, text->data, size);
	output->size = size;
	output->truncated = text->truncated || too_long;
	iso_sha256_hex(text->data, text->size, output->sha256);
	result->has_output = true;
	return 0;
}

static int run_file_tool(iso_session *session, const struct iso_call *call, struct iso_text *text,
			 struct iso_error *ret_reason)
{
	const struct iso_workspace *workspace = &session->loaded.workspace;
	switch (call->tool->id) {
	case ISO_TOOL_READ:
		return iso_tool_read(workspace, call->path, session->loaded.policy.max_file_bytes,
				     text, ret_reason);
	case ISO_TOOL_LIST:
		return iso_tool_list(workspace, call->path, text, ret_reason);
	default:
		return iso_tool_write(workspace, call->path, call->text, call->expected_sha256,
				      text, ret_reason);
	}
}

/* What the kernel refused a file tool is the tool's failure, not one of a launch. */
static void fail_tool(iso_result *result)
{
	struct iso_outcome *outcome = &result->outcome;
	if (outcome->status != ISO_STATUS_LAUNCH_FAILED)
		return;
	const char *message = strstr(outcome->error.message, ": ");
	char plain[sizeof(outcome->error.message)];
	snprintf(plain, sizeof(plain), "%s", message != NULL ? message + 2 : "");
	outcome->status = ISO_STATUS_FAILED;
	snprintf(outcome->error.message, sizeof(outcome->error.message), "ToolFailed: %.480s",
		 plain);
}

static int run_files(iso_session *session, const struct iso_call *call,
		     const struct iso_decision *decision, iso_result **ret_result,
		     struct iso_error *err)
{
	struct iso_text text = {0};
	struct iso_error reason = {0};
	if (run_file_tool(session, call, &text, &reason) < 0) {
		if (iso_result_new_refused(&reason, ret_result, err) < 0)
			return -1;
		fail_tool(*ret_result);
		return 0;
	}
	iso_result *result;
	int status = iso_result_new(&result, err);
	if (status == 0) {
		result->outcome.status = ISO_STATUS_COMPLETED;
		result->outcome.payload_exit = -1;
		status = keep_output(result, &text, decision->output_limit_bytes, err);
		if (status < 0)
			iso_result_free(result);
		else
			*ret_result = result;
	}
	free(text.data);
	return status;
}

/* An audit log that must have the line has to have room for it before anything runs (AUD-4). */
static int require_audit(iso_session *session, struct iso_error *err)
{
	if (!session->loaded.policy.audit_required)
		return 0;
	pthread_mutex_lock(&session->lock);
	int status = iso_audit_require(&session->audit, err);
	pthread_mutex_unlock(&session->lock);
	return status;
}

/* Decide and run. */
static int perform(iso_session *session, const struct iso_call *call, iso_result **ret_result,
		   struct iso_error *err)
{
	struct iso_decision decision;
	struct iso_error reason = {0};
	ISO_AUTO_FREE char *workdir = NULL;
	if (call->tool->id == ISO_TOOL_BASH &&
	    resolve_workdir(session, call->workdir, &workdir, &reason) < 0)
		return iso_result_new_refused(&reason, ret_result, err);
	iso_evaluate(&session->loaded.policy, call, workdir, &decision);
	if (!decision.allowed) {
		iso_error_set(&reason, ISO_ERR_DENIED, 0, "%s", decision.sentence);
		return iso_result_new_refused(&reason, ret_result, err);
	}
	if (require_audit(session, &reason) < 0)
		return iso_result_new_refused(&reason, ret_result, err);
	switch (call->tool->id) {
	case ISO_TOOL_BASH:
		return iso_session_run_bash(session, call, &decision, ISO_TAKE_PTR(workdir),
					    ret_result, err);
	case ISO_TOOL_EXEC:
	case ISO_TOOL_GIT_DIFF:
		return iso_session_run_command(session, call, &decision, ret_result, err);
	default:
		return run_files(session, call, &decision, ret_result, err);
	}
}

/* The tool's name as far as it is known: a caller's own words do not go into the log. */
static const char *known_name(const char *tool)
{
	const struct iso_tool *known = iso_tool_find(tool);
	return known != NULL ? known->name : "unknown";
}

static int answer(iso_session *session, const char *tool, const struct iso_call *call,
		  iso_result *result, int64_t started_mono_ns, char **ret_receipt,
		  int *ret_exit_code, struct iso_error *err)
{
	result->tool = known_name(tool);
	if (!result->launched)
		result->elapsed_us = (iso_clock_mono_ns() - started_mono_ns) / 1000;
	memcpy(result->policy_sha256, session->loaded.sha256, sizeof(result->policy_sha256));
	if (call->canonical != NULL) {
		free(result->request_json);
		result->request_json = strdup(call->canonical);
		if (result->request_json == NULL)
			return iso_error_nomem(err);
	}
	if (session->has_audit) {
		pthread_mutex_lock(&session->lock);
		iso_result_record(result, &session->audit);
		pthread_mutex_unlock(&session->lock);
	}
	*ret_exit_code = result->outcome.exit_code;
	return iso_result_receipt(result, ret_receipt, err);
}

int iso_session_call(iso_session *session, const char *tool, const char *arguments,
		     const char *call_id, char **ret_receipt, int *ret_exit_code,
		     struct iso_error *err)
{
	ISO_CLEANUP(iso_call_done) struct iso_call call = {0};
	struct iso_call_ticket ticket = {.fd = -1};
	struct iso_error reason = {0};
	int64_t started_mono_ns = iso_clock_mono_ns();
	iso_result *result = NULL;
	int status;
	if (iso_call_read(tool, arguments, &call, &reason) < 0) {
		status = iso_result_new_refused(&reason, &result, err);
	} else {
		status = iso_call_memory_begin(&session->memory, call_id, call.canonical, &ticket,
					       ret_receipt, ret_exit_code, &reason);
		if (status == 0)
			return 0; /* the first receipt */
		status = status < 0 ? iso_result_new_refused(&reason, &result, err)
				    : perform(session, &call, &result, err);
	}
	char *receipt = NULL;
	int exit_code = 0;
	if (status == 0)
		status = answer(session, tool, &call, result, started_mono_ns, &receipt, &exit_code,
				err);
	iso_result_free(result);
	if (reason.code == ISO_OK)
		iso_call_memory_end(&session->memory, &ticket, receipt, exit_code);
	if (status < 0)
		return -1;
	*ret_receipt = receipt;
	*ret_exit_code = exit_code;
	return 0;
}

int iso_session_explain(iso_session *session, const char *tool, const char *arguments,
			char **ret_text, bool *ret_allowed, struct iso_error *err)
{
	ISO_CLEANUP(iso_call_done) struct iso_call call = {0};
	ISO_AUTO_FREE char *workdir = NULL;
	struct iso_decision decision;
	if (iso_call_read(tool, arguments, &call, err) < 0 ||
	    (call.tool->id == ISO_TOOL_BASH &&
	     resolve_workdir(session, call.workdir, &workdir, err) < 0))
		return -1;
	iso_evaluate(&session->loaded.policy, &call, workdir, &decision);
	*ret_allowed = decision.allowed;
	return iso_decision_explain(&session->loaded.policy, &call, &decision, ret_text, err);
}

int iso_session_tools(iso_session *session, char **ret_json, struct iso_error *err)
{
	return iso_tools_print(&session->loaded.policy, ret_json, err);
}
