/* Printing and checking share the composition of a line; a line that differs in a byte is wrong. */
#include "audit/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/text/base64.h"
#include "runner/base/text/json.h"
#include "runner/base/text/json_read.h"
#include "runner/base/text/strv.h"

#define BEFORE_RECORD "{\"record\":"
#define BEFORE_HASH   ",\"hash\":\""
#define BEFORE_SIG    "\",\"sig\":\""
#define SIG_LENGTH    88 /* base64 of 64 bytes */
#define HASH_LENGTH   (ISO_SHA256_HEX_SIZE - 1)

void iso_audit_head_init(struct iso_audit_head *ret_head)
{
	ret_head->seq = 0;
	memset(ret_head->hash, '0', HASH_LENGTH);
	ret_head->hash[HASH_LENGTH] = '\0';
}

static bool is_hash(const char *text)
{
	return strspn(text, "0123456789abcdef") >= HASH_LENGTH;
}

static void hash_record(const char *previous, const char *record, size_t size,
			char ret_hash[ISO_SHA256_HEX_SIZE])
{
	struct sha256_ctx context;
	uint8_t before[SHA256_DIGEST_SIZE], length[8];
	iso_sha256_read(previous, before);
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)size >> (56 - 8 * i));
	sha256_init(&context);
	sha256_update(&context, sizeof(before), before);
	sha256_update(&context, sizeof(length), length);
	sha256_update(&context, size, (const uint8_t *)record);
	iso_sha256_finish(&context, ret_hash);
}

static int print_record(const struct iso_audit_event *event, const struct iso_audit_head *head,
			char **ret_record, struct iso_error *err)
{
	struct iso_json json;
	char time[ISO_TIMESTAMP_SIZE];
	iso_clock_format_unix_ms(event->unix_ms, time);
	cJSON *root = iso_json_begin(&json);
	iso_json_add_u64(&json, root, "seq", head->seq + 1);
	iso_json_add_text(&json, root, "prev", head->hash);
	iso_json_add_text(&json, root, "schema", "isorun.audit/1");
	iso_json_add_text(&json, root, "time", time);
	iso_json_add_text(&json, root, "id", event->id);
	iso_json_add_text(&json, root, "tool", event->tool);
	iso_json_add_text(&json, root, "status", event->status);
	iso_json_add_text(&json, root, "error", event->error_class);
	if (event->exit_code >= 0)
		iso_json_add_i64(&json, root, "exit_code", event->exit_code);
	else
		iso_json_add_null(&json, root, "exit_code");
	iso_json_add_text(&json, root, "arguments", "[omitted]");
	iso_json_add_text(&json, root, "output", "[omitted]");
	iso_json_add_text(&json, root, "request_sha256", event->request_sha256);
	iso_json_add_text(&json, root, "plan_sha256", event->plan_sha256);
	iso_json_add_text(&json, root, "policy_sha256", event->policy_sha256);
	iso_json_add_text(&json, root, "output_sha256", event->output_sha256);
	if (event->torn_bytes > 0)
		iso_json_add_u64(&json, root, "torn_bytes", event->torn_bytes);
	return iso_json_end(&json, root, ret_record, err);
}

int iso_audit_line_print(const struct iso_audit_event *event, const struct iso_audit_key *key,
			 struct iso_audit_head *head, char **ret_line, size_t *ret_size,
			 struct iso_error *err)
{
	struct iso_audit_head next = {.seq = head->seq + 1};
	ISO_AUTO_FREE char *record = NULL;
	ISO_AUTO_FREE char *signature = NULL;
	if (print_record(event, head, &record, err) < 0)
		return -1;
	hash_record(head->hash, record, strlen(record), next.hash);
	if (key != NULL) {
		uint8_t hash[SHA256_DIGEST_SIZE], bytes[ISO_SIGNATURE_SIZE];
		iso_sha256_read(next.hash, hash);
		iso_audit_sign(key, hash, sizeof(hash), bytes);
		signature = iso_base64(bytes, sizeof(bytes));
		if (signature == NULL)
			return iso_error_nomem(err);
	}
	char *line =
		iso_strf(BEFORE_RECORD "%s" BEFORE_HASH "%s%s%s\"}\n", record, next.hash,
			 signature != NULL ? BEFORE_SIG : "", signature != NULL ? signature : "");
	if (line == NULL)
		return iso_error_nomem(err);
	size_t size = strlen(line);
	if (size > ISO_AUDIT_LINE_MAX) {
		free(line);
		return iso_error_set(err, ISO_ERR_INVALID, 0, "record the request: it is too long");
	}
	*head = next;
	*ret_line = line;
	*ret_size = size;
	return 0;
}

bool iso_audit_line_is_torn(const char *text, size_t size)
{
	const size_t before = strlen(BEFORE_RECORD);
	while (size > 0 && text[size - 1] == '\0')
		size--;
	return memcmp(text, BEFORE_RECORD, size < before ? size : before) == 0;
}

/* The parts of a line, or false: it is not of this form. */
struct parts {
	const char *record, *hash, *signature; /* signature: NULL where there is none */
	size_t record_size;
};

static bool take_apart(const char *line, size_t size, struct parts *ret_parts)
{
	const size_t before = strlen(BEFORE_RECORD);
	const size_t plain = strlen(BEFORE_HASH) + HASH_LENGTH + strlen("\"}");
	const size_t with_signature = plain + strlen(BEFORE_SIG) + SIG_LENGTH;
	if (size < before + plain || memcmp(line, BEFORE_RECORD, before) != 0 ||
	    memcmp(line + size - 2, "\"}", 2) != 0)
		return false;
	const size_t tails[] = {plain, with_signature};
	for (int i = 0; i < 2; i++) {
		if (size < before + tails[i])
			continue;
		const char *tail = line + size - tails[i];
		const char *hash = tail + strlen(BEFORE_HASH);
		if (memcmp(tail, BEFORE_HASH, strlen(BEFORE_HASH)) != 0 || !is_hash(hash) ||
		    (i == 1 && memcmp(hash + HASH_LENGTH, BEFORE_SIG, strlen(BEFORE_SIG)) != 0))
			continue;
		*ret_parts = (struct parts){
			.record = line + before,
			.record_size = (size_t)(tail - line) - before,
			.hash = hash,
			.signature = i == 1 ? hash + HASH_LENGTH + strlen(BEFORE_SIG) : NULL,
		};
		return true;
	}
	return false;
}

static int wrong(struct iso_error *err, const char *what)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0, "%s", what);
}

/* "seq" and "prev" as the record has them. */
static int read_place(const struct parts *parts, struct iso_audit_head *ret_before,
		      struct iso_error *err)
{
	cJSON *record;
	if (iso_json_parse("the record", parts->record, parts->record_size, &record, err) < 0)
		return -1;
	struct iso_json_at top = iso_json_root("the record", record);
	struct iso_json_at seq_at = iso_json_member(&top, "seq");
	struct iso_json_at prev_at = iso_json_member(&top, "prev");
	uint64_t seq;
	const char *previous;
	int status = 0;
	if (iso_json_whole(&seq_at, 1, INT64_MAX, &seq, err) < 0 ||
	    iso_json_text(&prev_at, &previous, err) < 0)
		status = -1;
	else if (strlen(previous) != HASH_LENGTH || !is_hash(previous))
		status = wrong(err, "its \"prev\" is no hash");
	if (status == 0) {
		ret_before->seq = seq - 1;
		memcpy(ret_before->hash, previous, ISO_SHA256_HEX_SIZE);
	}
	cJSON_Delete(record);
	return status;
}

int iso_audit_line_check(const char *line, size_t size, const struct iso_audit_key *key,
			 bool follow, struct iso_audit_head *head, struct iso_error *err)
{
	struct parts parts;
	struct iso_audit_head before, next;
	if (!take_apart(line, size, &parts))
		return wrong(err, "it is no record");
	if (read_place(&parts, &before, err) < 0)
		return -1;
	if (follow && before.seq != head->seq)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "its number is %" PRIu64 ", and %" PRIu64 " should follow",
				     before.seq + 1, head->seq + 1);
	if (follow && strcmp(before.hash, head->hash) != 0)
		return wrong(err, "it does not follow the line before");
	next.seq = before.seq + 1;
	hash_record(before.hash, parts.record, parts.record_size, next.hash);
	if (memcmp(next.hash, parts.hash, HASH_LENGTH) != 0)
		return wrong(err, "it was changed: its hash is another");
	if (key != NULL) {
		uint8_t hash[SHA256_DIGEST_SIZE], signature[ISO_SIGNATURE_SIZE];
		iso_sha256_read(next.hash, hash);
		if (parts.signature == NULL)
			return wrong(err, "it is not signed");
		if (!iso_base64_decode(parts.signature, SIG_LENGTH, signature, sizeof(signature)) ||
		    !iso_audit_signature_is_good(key, hash, sizeof(hash), signature))
			return wrong(err, "its signature is not of this key");
	}
	*head = next;
	return 0;
}
