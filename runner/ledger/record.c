/* AUD-1: one line per receipt, without arguments and output, and of an error only its class. */
#include <stdio.h>
#include <string.h>

#include "audit/log.h"
#include "runner/base/error.h"
#include "runner/engine/receipt.h"

/* "Class" of "Class: message". */
static const char *error_class(const iso_result *result, char *text, size_t size)
{
	const struct iso_error *error = iso_result_error(result);
	if (error == NULL)
		return NULL;
	snprintf(text, size, "%.*s", (int)strcspn(error->message, ":"), error->message);
	return text;
}

void iso_result_record(iso_result *result, struct iso_audit_log *log)
{
	char class_name[64], request[ISO_SHA256_HEX_SIZE], plan[ISO_SHA256_HEX_SIZE];
	struct iso_error reason = {0};
	struct iso_audit_head head;
	if (result->request_json != NULL)
		iso_sha256_hex(result->request_json, strlen(result->request_json), request);
	if (result->plan_json != NULL)
		iso_sha256_hex(result->plan_json, strlen(result->plan_json), plan);
	const struct iso_audit_event event = {
		.id = result->id,
		.tool = result->tool,
		.status = iso_status_name(result->outcome.status),
		.error_class = error_class(result, class_name, sizeof(class_name)),
		.request_sha256 = result->request_json != NULL ? request : NULL,
		.plan_sha256 = result->plan_json != NULL ? plan : NULL,
		.policy_sha256 = result->policy_sha256[0] != '\0' ? result->policy_sha256 : NULL,
		.output_sha256 = result->has_output ? result->output.sha256 : NULL,
		.exit_code = result->outcome.payload_exit,
		.unix_ms = result->started_unix_ms,
	};
	result->audit_wanted = true;
	result->audit_recorded = iso_audit_log_append(log, &event, &head, &reason) == 0;
	if (result->audit_recorded) {
		result->audit_seq = head.seq;
		memcpy(result->audit_hash, head.hash, sizeof(head.hash));
	} else if (result->outcome.error.hint[0] == '\0') {
		iso_error_hint(&result->outcome.error, "%s", reason.message);
	}
}
