/* AUD-1: one line per receipt, without arguments and output, and of an error only its class. */
#include <string.h>

#include "runner/base/clock.h"
#include "runner/ledger/ledger.h"

static void record(struct iso_audit_log *log, iso_result *result)
{
	const struct iso_outcome *outcome = &result->outcome;
	struct iso_audit_head head;
	const struct iso_audit_event event = {
		.id = result->id,
		.tool = result->tool,
		.status = iso_status_name(outcome->status),
		.error_class = outcome->error_class != ISO_CLASS_NONE
				       ? iso_class_name(outcome->error_class)
				       : NULL,
		.request_sha256 = iso_sha256_or_null(result->request_sha256),
		.plan_sha256 = iso_sha256_or_null(result->plan_sha256),
		.policy_sha256 = iso_sha256_or_null(result->policy_sha256),
		.output_sha256 = result->has_output ? result->output.sha256 : NULL,
		.exit_code = outcome->payload_exit,
		.unix_ms = result->started_unix_ms,
	};
	result->audit_wanted = true;
	result->audit_recorded =
		iso_audit_log_append(log, &event, &head, &result->audit_error) == 0;
	if (result->audit_recorded) {
		result->audit_seq = head.seq;
		memcpy(result->audit_hash, head.hash, sizeof(head.hash));
	}
}

static void fill(const struct iso_ledger_entry *entry, iso_result *result)
{
	result->tool = entry->tool;
	if (!result->launched)
		result->elapsed_us = (iso_clock_mono_ns() - entry->received_mono_ns) / 1000;
	if (entry->policy_sha256 != NULL)
		memcpy(result->policy_sha256, entry->policy_sha256, sizeof(result->policy_sha256));
	if (entry->request_json != NULL)
		iso_sha256_hex(entry->request_json, strlen(entry->request_json),
			       result->request_sha256);
}

int iso_ledger_finish(struct iso_ledger *ledger, const struct iso_ledger_entry *entry,
		      iso_result *result, char **ret_receipt, struct iso_error *err)
{
	fill(entry, result);
	if (ledger->has_log)
		record(&ledger->log, result);
	return iso_receipt_print(result, ret_receipt, err);
}
