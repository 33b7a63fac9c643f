/*
 * host.bash (CAP): a binding with a fresh challenge, the authority's capability for exactly that,
 * checked here; the token marked used, consumed at the authority, and only then a process. The
 * result is reported before it is returned.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/text/json.h"
#include "runner/base/text/utf8.h"
#include "runner/calls/session.h"
#include "runner/workspace/named_path.h"

#define STDOUT_CHARACTERS 30000
#define STDERR_CHARACTERS 8000

/* Ask the authority with the parameters built in `root`; the caller deletes the answer. */
static int ask(iso_session *session, const char *method, struct iso_json *json, cJSON *root,
	       cJSON **ret_answer, struct iso_error *err)
{
	ISO_AUTO_FREE char *params = NULL;
	if (iso_json_end(json, root, &params, err) < 0)
		return -1;
	return iso_authority_ask(&session->authority, method, params, ret_answer, err);
}

static bool is_true(const cJSON *answer, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, name));
}

/* Why the authority says no, or `standard` when it does not say; points into the answer. */
static const char *reason_of(const cJSON *answer, const char *standard)
{
	const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "error"));
	return why != NULL ? why : standard;
}

/* CAP-1: ask for a capability, and check what comes. */
static int authorize(iso_session *session, const struct iso_binding *binding,
		     struct iso_capability *ret_capability, struct iso_error *err)
{
	struct iso_json json;
	cJSON *answer;
	cJSON *root = iso_json_begin(&json);
	iso_binding_add(binding, &json, root);
	if (ask(session, "authorize_bash", &json, root, &answer, err) < 0)
		return -1;
	int status = iso_capability_check(answer, binding, iso_clock_unix_ms(),
					  iso_named_path_is_directory, ret_capability, err);
	cJSON_Delete(answer);
	return status;
}

/* CAP-5: used here first, then at the authority; a failure is final for this token. */
static int consume(iso_session *session, const struct iso_binding *binding,
		   const struct iso_capability *capability, struct iso_error *err)
{
	struct iso_json json;
	cJSON *answer;
	pthread_mutex_lock(&session->lock);
	int status = iso_replay_mark(&session->replay, capability->token, err);
	pthread_mutex_unlock(&session->lock);
	if (status < 0)
		return -1;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "token", capability->token);
	iso_binding_add_bound(binding, &json, root);
	if (ask(session, "consume_bash_authorization", &json, root, &answer, err) < 0)
		return -1;
	bool consumed = is_true(answer, "ok");
	if (!consumed)
		iso_error_set(err, ISO_ERR_DENIED, 0,
			      "host capability was not consumed; command was not executed: %.200s",
			      reason_of(answer, "no reason given"));
	cJSON_Delete(answer);
	return consumed ? 0 : -1;
}

/* CAP-9 */
static int check_egress(iso_session *session, const char *command, struct iso_error *err)
{
	struct iso_json json;
	cJSON *answer;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "command", command);
	if (ask(session, "egress_check", &json, root, &answer, err) < 0)
		return -1;
	bool allowed = is_true(answer, "allowed");
	if (!allowed)
		iso_error_set(err, ISO_ERR_DENIED, 0, "%.300s",
			      reason_of(answer, "the authority refuses the egress"));
	cJSON_Delete(answer);
	return allowed ? 0 : -1;
}

/* CAP-3, CAP-4: the whole handshake; when it returns 0, the command may run once. */
static int obtain(iso_session *session, const struct iso_binding *binding, struct iso_error *err)
{
	struct iso_capability capability;
	if (check_egress(session, binding->command, err) < 0 ||
	    authorize(session, binding, &capability, err) < 0)
		return -1;
	int status = consume(session, binding, &capability, err);
	iso_capability_done(&capability);
	return status;
}

static void add_stream(struct iso_json *json, cJSON *root, const char *name,
		       const struct iso_captured *stream)
{
	cJSON *object = iso_json_add_object(json, root, name);
	ISO_AUTO_FREE char *text =
		stream->data != NULL ? iso_utf8_replace(stream->data, stream->size) : strdup("");
	json->failed |= text == NULL;
	iso_json_add_text(json, object, "text", text);
	iso_json_add_u64(json, object, "characters_seen", stream->total_characters);
	iso_json_add_u64(json, object, "characters_retained", stream->retained_characters);
	iso_json_add_bool(json, object, "truncated", stream->truncated);
}

/* CAP-7: what the authority is told; false: it could not be. */
static bool report(iso_session *session, const struct iso_binding *binding,
		   const iso_result *result)
{
	static const char *const lists[] = {"created", "modified", "deleted"};
	const struct iso_diff_list *diffs[] = {&result->diff.created, &result->diff.modified,
					       &result->diff.deleted};
	const struct iso_outcome *outcome = &result->outcome;
	const char *status = outcome->status == ISO_STATUS_TIMED_OUT ? "timed_out"
			     : !result->launched || outcome->status == ISO_STATUS_LAUNCH_FAILED
				     ? "launch_failed"
				     : "completed";
	struct iso_json json;
	cJSON *answer;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "command_sha256", binding->command_sha256);
	iso_json_add_text(&json, root, "challenge", binding->challenge);
	iso_json_add_text(&json, root, "generation", binding->generation);
	iso_json_add_text(&json, root, "status", status);
	iso_json_add_i64(&json, root, "exit_code", outcome->payload_exit);
	add_stream(&json, root, "stdout", &result->streams[0]);
	add_stream(&json, root, "stderr", &result->streams[1]);
	iso_json_add_thousandths(&json, root, "duration_ms", result->elapsed_us);
	cJSON *diff = iso_json_add_object(&json, root, "workspace_diff");
	for (int i = 0; i < 3; i++)
		iso_json_add_strv(&json, diff, lists[i], diffs[i]->paths);
	if (ask(session, "record_bash_result", &json, root, &answer, NULL) < 0)
		return false;
	bool recorded = cJSON_GetObjectItemCaseSensitive(answer, "error") == NULL;
	cJSON_Delete(answer);
	return recorded;
}

static int run(const struct iso_performance *performance, iso_result **result,
	       struct iso_error *err)
{
	const struct iso_decision *decision = performance->decision;
	bool has_bash = faccessat(AT_FDCWD, "/bin/bash", X_OK, AT_EACCESS) == 0;
	const char *const argv[] = {has_bash ? "/bin/bash" : "/bin/sh", "-c",
				    performance->call->command, NULL};
	struct iso_request request;
	iso_request_init(&request);
	request.argv = argv;
	request.workdir = performance->workdir;
	request.wall_limit_ms = decision->wall_limit_ms;
	request.detached = decision->detached;
	request.keep = ISO_KEEP_TAIL;
	request.limit_characters = true;
	request.output_limit_bytes = STDOUT_CHARACTERS;
	request.stderr_limit_bytes = STDERR_CHARACTERS;
	return iso_session_execute(performance, &request, result, err);
}

/* Standard output is the tool's answer, too. */
static int copy_output(iso_result *result, struct iso_error *err)
{
	if (!result->launched)
		return 0;
	result->output = result->streams[0];
	result->output.data = malloc(result->output.size + 1);
	if (result->output.data == NULL)
		return iso_error_nomem(err);
	memcpy(result->output.data, result->streams[0].data, result->output.size);
	result->has_output = true;
	return 0;
}

int iso_perform_bash(const struct iso_performance *performance, iso_result **ret_result,
		     struct iso_error *err)
{
	iso_session *session = performance->session;
	struct iso_error reason = {0};
	struct iso_binding binding = {
		.command = performance->call->command,
		.cwd = performance->workdir,
		.workspace = session->loaded.policy.root,
		.generation = session->generation,
		.timeout_ms = performance->decision->wall_limit_ms,
	};
	if (iso_binding_seal(&binding, &reason) < 0 || obtain(session, &binding, &reason) < 0)
		return iso_result_new_refused(&reason, ret_result, err);
	if (run(performance, ret_result, err) < 0)
		return -1;
	iso_result *result = *ret_result;
	result->authority_told = true;
	result->authority_recorded = report(session, &binding, result);
	result->workdir = strdup(performance->workdir);
	if (result->workdir == NULL || copy_output(result, err) < 0)
		return iso_error_nomem(err); /* the result is the caller's already */
	return 0;
}
