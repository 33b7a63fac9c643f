/*
 * The story of a tool call: read, remember, decide, run, record, answer. Every path ends in one
 * receipt; what could not be recorded is said in it.
 */
#include "runner/calls/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/base/random.h"
#include "runner/base/sized.h"
#include "runner/engine/run.h"
#include "runner/workspace/named_path.h"

#define EXIT_NOT_RECORDED 125

void iso_session_options_init_sized(struct iso_session_options *ret_options, size_t struct_size)
{
	const struct iso_session_options options = {.struct_size = struct_size, .cancel_fd = -1};
	iso_sized_write(ret_options, struct_size, &options, sizeof(options));
}

void iso_tool_call_init_sized(struct iso_tool_call *ret_call, size_t struct_size)
{
	const struct iso_tool_call call = {.struct_size = struct_size, .cancel_fd = -1};
	iso_sized_write(ret_call, struct_size, &call, sizeof(call));
}

static int open_ledger(iso_session *session, const struct iso_session_options *options,
		       struct iso_error *err)
{
	const struct iso_policy *policy = &session->loaded.policy;
	const struct iso_ledger_options ledger = {
		.log_path = options->audit,
		.key_path = options->audit_key,
		.writable = &session->loaded.writable,
		.no_sync = options->audit_no_sync,
	};
	if (options->audit == NULL && policy->audit_required)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "open the audit log: the policy requires one, and none is "
				     "named (--audit FILE)");
	return iso_ledger_open(&ledger, &session->ledger, err);
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
	const char *path = options->authority + strlen(prefix);
	session->authority_path = strdup(path);
	session->authority.socket_path = session->authority_path;
	if (session->authority_path == NULL)
		return iso_error_nomem(err);
	return iso_policy_check_place(&session->loaded, path, "the authority's socket", err);
}

static int name_generation(iso_session *session, const char *given, struct iso_error *err)
{
	char random[ISO_RANDOM_HEX_SIZE(16)];
	if (iso_random_hex(16, random) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	session->generation = strdup(given != NULL ? given : random);
	return session->generation == NULL ? iso_error_nomem(err) : 0;
}

static int open_parts(iso_session *session, const struct iso_session_options *options,
		      struct iso_error *err)
{
	if (options->policy == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "read the policy: none is named");
	session->cancel_fd = options->cancel_fd;
	session->station = options->station;
	if (iso_policy_load(options->policy, &session->loaded, err) < 0 ||
	    iso_policy_check_place(&session->loaded, options->state_dir, "the state directory",
				   err) < 0 ||
	    open_ledger(session, options, err) < 0 || open_authority(session, options, err) < 0 ||
	    iso_call_memory_open(options->state_dir, &session->memory, err) < 0)
		return -1;
	return name_generation(session, options->generation, err);
}

int iso_session_new(const struct iso_session_options *given, iso_session **ret_session,
		    struct iso_error *err)
{
	struct iso_session_options options = {.cancel_fd = -1};
	if (iso_sized_read(given, given->struct_size, &options, sizeof(options),
			   "struct iso_session_options", err) < 0)
		return -1;
	iso_session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return iso_error_nomem(err);
	session->memory.state.fd = -1;
	session->builtin.tokens.fd = -1;
	session->loaded.workspace.root_fd = -1;
	pthread_mutex_init(&session->lock, NULL);
	if (open_parts(session, &options, err) < 0) {
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
	if (session->owns_station)
		iso_station_free(session->station);
	iso_call_memory_close(&session->memory);
	iso_builtin_authority_close(&session->builtin);
	iso_ledger_close(&session->ledger);
	iso_replay_done(&session->replay);
	free(session->authority_path);
	free(session->generation);
	iso_policy_unload(&session->loaded);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

/* The station of all runs of the session, made when the first one comes. */
static int get_station(iso_session *session, iso_station **ret_station, struct iso_error *err)
{
	int status = 0;
	pthread_mutex_lock(&session->lock);
	if (session->station == NULL) {
		status = iso_station_new(&session->station, err);
		session->owns_station = status == 0;
	}
	*ret_station = session->station;
	pthread_mutex_unlock(&session->lock);
	return status;
}

int iso_session_execute(const struct iso_performance *performance, struct iso_request *request,
			iso_result **ret_result, struct iso_error *err)
{
	ISO_CLEANUP(iso_policy_request_done) struct iso_policy_request storage = {0};
	iso_session *session = performance->session;
	struct iso_error reason = {0};
	iso_station *station;
	if (iso_policy_fill_request(&session->loaded, performance->decision->workspace_write,
				    &storage, request, &reason) < 0 ||
	    get_station(session, &station, &reason) < 0)
		return iso_result_new_refused(&reason, ret_result, err);
	request->capture = true;
	request->diff = true;
	request->cancel_fd = performance->cancel_fd;
	return iso_run_to_end(station, request, ret_result, err);
}

/* The directory in which host.bash is to run, canonical: the caller frees. */
static int resolve_workdir(const iso_session *session, const char *workdir, char **ret_path,
			   struct iso_error *err)
{
	const char *root = session->loaded.policy.root;
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	int opened = workdir != NULL
			     ? iso_named_path_open(workdir, "the working directory", &named, err)
			     : iso_named_path_of(session->loaded.workspace.root_fd, root,
						 "the working directory", &named, err);
	if (opened < 0)
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

/* Decide and run. */
static int perform(iso_session *session, const struct iso_call *call, int cancel_fd,
		   iso_result **ret_result, struct iso_error *err)
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
	/* A log that must have the line has to have room for it before anything runs (AUD-4). */
	if (session->loaded.policy.audit_required &&
	    iso_ledger_require(&session->ledger, &reason) < 0)
		return iso_result_new_refused(&reason, ret_result, err);
	const struct iso_performance performance = {
		.session = session,
		.call = call,
		.decision = &decision,
		.workdir = workdir,
		.cancel_fd = cancel_fd >= 0 ? cancel_fd : session->cancel_fd,
	};
	return iso_perform(&performance, ret_result, err);
}

/* The tool's name as far as it is known: a caller's own words do not go into the log. */
static const char *known_name(const char *tool)
{
	const struct iso_tool *known = tool != NULL ? iso_tool_find(tool) : NULL;
	return known != NULL ? known->name : "unknown";
}

/* Read a call: 1 when it is to run, 0 when it has run and `ret_answer` is its answer, or -1. */
static int begin(iso_session *session, const struct iso_tool_call *given, struct iso_call *ret_call,
		 struct iso_call_ticket *ret_ticket, struct iso_answer *ret_answer,
		 struct iso_error *err)
{
	if (iso_call_read(given->tool, given->arguments, ret_call, err) < 0)
		return -1;
	return iso_call_memory_begin(&session->memory, given->call_id, ret_call->canonical,
				     ret_ticket, ret_answer, err);
}

static int finish(iso_session *session, const struct iso_ledger_entry *entry, iso_result *result,
		  struct iso_answer *ret_answer, struct iso_error *err)
{
	if (iso_ledger_finish(&session->ledger, entry, result, &ret_answer->receipt, err) < 0)
		return -1;
	/* What is not recorded must not look like success. */
	bool lost = session->ledger.has_log && !result->audit_recorded;
	ret_answer->exit_code = lost ? EXIT_NOT_RECORDED : result->outcome.exit_code;
	return 0;
}

/* A call that failed, whatever it had come to. */
static int replace_result(iso_result **result, const struct iso_error *reason,
			  struct iso_error *err)
{
	if (*result == NULL)
		return iso_result_new_refused(reason, result, err);
	struct iso_outcome *outcome = &(*result)->outcome;
	int payload_exit = outcome->payload_exit, payload_signal = outcome->payload_signal;
	iso_classify_refused(reason, outcome);
	outcome->payload_exit = payload_exit; /* it ran, and ended so */
	outcome->payload_signal = payload_signal;
	return 0;
}

int iso_session_call(iso_session *session, const struct iso_tool_call *call, char **ret_receipt,
		     int *ret_exit_code, struct iso_error *err)
{
	ISO_CLEANUP(iso_call_done) struct iso_call read = {0};
	struct iso_tool_call given = {.cancel_fd = -1};
	struct iso_call_ticket ticket = {.fd = -1};
	struct iso_answer answer = {NULL, 0};
	struct iso_error reason = {0};
	iso_result *result = NULL;
	int64_t received_mono_ns = iso_clock_mono_ns();
	if (iso_sized_read(call, call->struct_size, &given, sizeof(given), "struct iso_tool_call",
			   err) < 0)
		return -1;
	int begun = begin(session, &given, &read, &ticket, &answer, &reason);
	int status = 0;
	if (begun != 0) { /* else it has run, and this is the first receipt */
		status =
			begun < 0 ? -1 : perform(session, &read, given.cancel_fd, &result, &reason);
		if (status < 0) /* a receipt is owed all the same */
			status = replace_result(&result, &reason, err);
		const struct iso_ledger_entry entry = {
			.tool = known_name(given.tool),
			.policy_sha256 = session->loaded.sha256,
			.request_json = read.canonical,
			.received_mono_ns = received_mono_ns,
		};
		if (status == 0)
			status = finish(session, &entry, result, &answer, err);
		iso_result_free(result);
	}
	if (begun == 1)
		iso_call_memory_end(&session->memory, &ticket, &answer);
	if (status < 0)
		return -1;
	*ret_receipt = answer.receipt;
	*ret_exit_code = answer.exit_code;
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
