/* Fields are printed in the order of the specification; what is not known is null, never 0. */
#include "runner/engine/receipt.h"

#include <stdio.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/text/base64.h"
#include "runner/base/text/json.h"
#include "runner/base/text/strv.h"
#include "runner/base/text/utf8.h"
#include "sandbox/filter/capabilities.h"

#define ERROR_TEXT_MAX 500 /* RCPT-1 */

static const char *const status_names[] = {
	[ISO_STATUS_UNSET] = "unset",
	[ISO_STATUS_COMPLETED] = "completed",
	[ISO_STATUS_FAILED] = "failed",
	[ISO_STATUS_SIGNALED] = "signaled",
	[ISO_STATUS_TIMED_OUT] = "timed_out",
	[ISO_STATUS_MEMORY_LIMIT] = "memory_limit",
	[ISO_STATUS_CANCELLED] = "cancelled",
	[ISO_STATUS_DENIED] = "denied",
	[ISO_STATUS_INVALID] = "invalid",
	[ISO_STATUS_LAUNCH_FAILED] = "launch_failed",
	[ISO_STATUS_INTERNAL_ERROR] = "internal_error",
};

const char *iso_status_name(enum iso_status status)
{
	return status_names[status];
}

static void add_base64(struct iso_json *json, cJSON *object, const uint8_t *data, size_t size)
{
	ISO_AUTO_FREE char *text = iso_base64(data, size);
	json->failed |= text == NULL;
	iso_json_add_text(json, object, "base64", text);
}

/* Text as it is; what is not text is replaced there and given whole as base64. */
static void add_stream(struct iso_json *json, cJSON *root, const char *name,
		       const struct iso_captured *stream)
{
	cJSON *object = iso_json_add_object(json, root, name);
	if (!stream->captured) {
		iso_json_add_u64(json, object, "bytes_total", stream->total_bytes);
		return;
	}
	bool is_text = iso_utf8_is_text(stream->data, stream->size);
	ISO_AUTO_FREE char *text = iso_utf8_replace(stream->data, stream->size);
	if (text == NULL)
		json->failed = true;
	iso_json_add_text(json, object, "text", text);
	iso_json_add_text(json, object, "encoding", is_text ? "utf-8" : "utf-8-replaced");
	if (!is_text)
		add_base64(json, object, stream->data, stream->size);
	iso_json_add_u64(json, object, "bytes_total", stream->total_bytes);
	iso_json_add_u64(json, object, "bytes_retained", stream->size);
	if (stream->counts_characters) {
		iso_json_add_u64(json, object, "characters_total", stream->total_characters);
		iso_json_add_u64(json, object, "characters_retained", stream->retained_characters);
	}
	iso_json_add_bool(json, object, "truncated", stream->truncated);
	iso_json_add_text(json, object, "keep", stream->keep == ISO_KEEP_TAIL ? "tail" : "head");
	iso_json_add_text(json, object, "sha256", stream->sha256);
}

/* A tool's answer. */
static void add_output(struct iso_json *json, cJSON *root, const struct iso_captured *output)
{
	ISO_AUTO_FREE char *text = iso_utf8_replace(output->data, output->size);
	if (text == NULL)
		json->failed = true;
	iso_json_add_text(json, root, "output", text);
	iso_json_add_bool(json, root, "truncated", output->truncated);
	iso_json_add_text(json, root, "output_sha256", output->sha256);
}

/* Whether the request stands in the audit log, and where; for host.bash also at the authority. */
static void add_audit(struct iso_json *json, cJSON *root, const struct iso_result *result)
{
	if (!result->audit_wanted && !result->authority_told)
		return;
	bool recorded = (!result->audit_wanted || result->audit_recorded) &&
			(!result->authority_told || result->authority_recorded);
	iso_json_add_bool(json, root, "audit_recorded", recorded);
	cJSON *audit = iso_json_add_object(json, root, "audit");
	iso_json_add_bool(json, audit, "recorded", recorded);
	if (result->audit_recorded) {
		iso_json_add_u64(json, audit, "seq", result->audit_seq);
		iso_json_add_text(json, audit, "hash", result->audit_hash);
	}
	if (result->audit_error.code != ISO_OK)
		iso_json_add_text(json, audit, "error", result->audit_error.message);
	if (result->authority_told)
		iso_json_add_bool(json, audit, "authority", result->authority_recorded);
}

static void add_usage(struct iso_json *json, cJSON *root, const struct iso_result *result)
{
	cJSON *usage = iso_json_add_object(json, root, "usage");
	iso_json_add_limit(json, usage, "cpu_user_us", result->usage.cpu_user_us);
	iso_json_add_limit(json, usage, "cpu_system_us", result->usage.cpu_system_us);
	iso_json_add_limit(json, usage, "memory_peak_bytes", result->usage.memory_peak_bytes);
	iso_json_add_limit(json, usage, "pids_peak", result->usage.pids_peak_count);
	iso_json_add_limit(json, usage, "oom_kills", result->usage.oom_kills);
	iso_json_add_limit(json, usage, "pids_limit_hits", result->usage.pids_limit_hits);
	iso_json_add_u64(json, usage, "survivors_killed", result->survivors_killed);
}

static void add_limit(struct iso_json *json, cJSON *limits, const char *name, uint64_t requested,
		      uint64_t effective)
{
	cJSON *limit = iso_json_add_object(json, limits, name);
	iso_json_add_limit(json, limit, "requested", requested);
	iso_json_add_limit(json, limit, "effective", effective);
}

static void add_limits(struct iso_json *json, cJSON *root, const struct iso_result *result)
{
	const struct iso_limits *requested = &result->requested;
	const struct iso_command_limits *each = &result->command_limits;
	cJSON *limits = iso_json_add_object(json, root, "limits");
	add_limit(json, limits, "memory_bytes", requested->memory_max_bytes,
		  result->memory_effective_bytes);
	add_limit(json, limits, "pids", requested->pids_max_count, result->pids_effective_count);
	add_limit(json, limits, "cpu_millis", requested->cpu_max_millis,
		  result->cpu_effective_millis);
	add_limit(json, limits, "wall_ms", each->wall_ms, each->wall_ms);
	add_limit(json, limits, "nofile", each->nofile_soft_count, each->nofile_soft_count);
	add_limit(json, limits, "fsize_bytes", each->fsize_max_bytes, each->fsize_max_bytes);
}

static void add_isolation(struct iso_json *json, cJSON *root, const struct iso_result *result)
{
	static char *const namespaces[] = {"mount", "pid", "net",    "user",
					   "ipc",   "uts", "cgroup", NULL};
	cJSON *isolation = iso_json_add_object(json, root, "isolation");
	iso_json_add_strv(json, isolation, "namespaces", namespaces);
	iso_json_add_text(json, isolation, "cgroup", iso_cgroup_mode_name(result->cgroup_mode));
	iso_capabilities_add(json, isolation, "capabilities", result->capabilities);
	iso_json_add_text(json, isolation, "seccomp",
			  result->seccomp_custom ? "default and custom" : "default");
	if (result->landlock_abi > 0)
		iso_json_add_u64(json, isolation, "landlock_abi", result->landlock_abi);
	else
		iso_json_add_null(json, isolation, "landlock_abi");
	iso_json_add_bool(json, isolation, "no_new_privs", true);
	iso_json_add_text(json, isolation, "identity", iso_identity_name(result->identity.kind));
	if (result->identity.kind == ISO_IDENTITY_MAPPED && result->identity.host_uid == 0) {
		iso_json_add_null(json, isolation, "host_uid"); /* none was taken */
		iso_json_add_null(json, isolation, "host_gid");
	} else {
		iso_json_add_u64(json, isolation, "host_uid", result->identity.host_uid);
		iso_json_add_u64(json, isolation, "host_gid", result->identity.host_gid);
	}
}

static void add_error(struct iso_json *json, cJSON *root, const struct iso_outcome *outcome)
{
	const char *hint = outcome->error.hint[0] != '\0' ? outcome->error.hint : NULL;
	if (outcome->error.code == ISO_OK) {
		iso_json_add_null(json, root, "error");
		iso_json_add_text(json, root, "hint", hint);
		return;
	}
	ISO_AUTO_FREE char *sentence =
		iso_strf("%s: %s", iso_class_name(outcome->error_class), outcome->error.message);
	size_t length = sentence != NULL ? strlen(sentence) : 0;
	if (length > ERROR_TEXT_MAX)
		length = iso_utf8_trim_end((const uint8_t *)sentence, ERROR_TEXT_MAX);
	ISO_AUTO_FREE char *text =
		sentence != NULL ? iso_utf8_replace((const uint8_t *)sentence, length) : NULL;
	json->failed |= text == NULL;
	iso_json_add_text(json, root, "error", text);
	iso_json_add_text(json, root, "hint", hint);
}

static void add_payload_end(struct iso_json *json, cJSON *root, const struct iso_outcome *outcome)
{
	if (outcome->payload_exit >= 0)
		iso_json_add_i64(json, root, "exit_code", outcome->payload_exit);
	else
		iso_json_add_null(json, root, "exit_code");
	if (outcome->payload_signal != 0) {
		char name[ISO_SIGNAL_NAME_SIZE];
		iso_signal_name(outcome->payload_signal, name);
		iso_json_add_text(json, root, "signal", name);
	} else {
		iso_json_add_null(json, root, "signal");
	}
	add_error(json, root, outcome);
}

static void add_list(struct iso_json *json, cJSON *object, const char *name,
		     const struct iso_diff_list *list)
{
	cJSON *array = iso_json_add_array(json, object, name);
	for (size_t i = 0; i < list->count; i++) {
		if (list->whys[i] == NULL) {
			iso_json_append_text(json, array, list->paths[i]);
			continue;
		}
		cJSON *item = iso_json_append_object(json, array);
		iso_json_add_text(json, item, "path", list->paths[i]);
		iso_json_add_text(json, item, "why", list->whys[i]);
	}
}

static void add_diff(struct iso_json *json, cJSON *workspace, const struct iso_diff *diff)
{
	iso_json_add_u64(json, workspace, "files", diff->files);
	add_list(json, workspace, "created", &diff->created);
	add_list(json, workspace, "modified", &diff->modified);
	add_list(json, workspace, "deleted", &diff->deleted);
	add_list(json, workspace, "sensitive", &diff->sensitive);
	cJSON *totals = iso_json_add_object(json, workspace, "totals");
	iso_json_add_u64(json, totals, "created", diff->created.total);
	iso_json_add_u64(json, totals, "modified", diff->modified.total);
	iso_json_add_u64(json, totals, "deleted", diff->deleted.total);
	iso_json_add_u64(json, totals, "sensitive", diff->sensitive.total);
	iso_json_add_u64(json, workspace, "redacted", diff->redacted);
	iso_json_add_bool(json, workspace, "truncated", diff->truncated);
	iso_json_add_bool(json, workspace, "incomplete", diff->incomplete != NULL);
	if (diff->incomplete != NULL)
		iso_json_add_text(json, workspace, "incomplete_reason", diff->incomplete);
}

int iso_receipt_print(const struct iso_result *result, char **ret_json, struct iso_error *err)
{
	struct iso_json json;
	char started_at[ISO_TIMESTAMP_SIZE];
	iso_clock_format_unix_ms(result->started_unix_ms, started_at);

	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "schema", "isorun.receipt/1");
	iso_json_add_text(&json, root, "id", result->id);
	iso_json_add_text(&json, root, "tool", result->tool);
	iso_json_add_text(&json, root, "status", status_names[result->outcome.status]);
	iso_json_add_bool(&json, root, "ok", result->outcome.status == ISO_STATUS_COMPLETED);
	add_payload_end(&json, root, &result->outcome);
	iso_json_add_text(&json, root, "started_at", started_at);
	iso_json_add_thousandths(&json, root, "elapsed_ms", result->elapsed_us);
	if (result->has_output)
		add_output(&json, root, &result->output);
	if (result->launched && (!result->has_output || result->streams[0].captured)) {
		add_stream(&json, root, "stdout", &result->streams[0]);
		add_stream(&json, root, "stderr", &result->streams[1]);
	}
	if (result->launched) {
		add_usage(&json, root, result);
		add_limits(&json, root, result);
		add_isolation(&json, root, result);
	}
	if (result->workspace != NULL) {
		cJSON *workspace = iso_json_add_object(&json, root, "workspace");
		iso_json_add_text(&json, workspace, "path", result->workspace);
		iso_json_add_text(&json, workspace, "mode",
				  result->workspace_read_only ? "ro" : "rw");
		if (result->has_diff)
			add_diff(&json, workspace, &result->diff);
	}
	iso_json_add_text(&json, root, "request_sha256",
			  iso_sha256_or_null(result->request_sha256));
	iso_json_add_text(&json, root, "plan_sha256", iso_sha256_or_null(result->plan_sha256));
	if (result->policy_sha256[0] != '\0')
		iso_json_add_text(&json, root, "policy_sha256", result->policy_sha256);
	if (result->workdir != NULL)
		iso_json_add_text(&json, root, "workdir", result->workdir);
	add_audit(&json, root, result);
	return iso_json_end(&json, root, ret_json, err);
}
