/*
 * The subject is the receipt itself, by its digest. What the caller chose are external parameters,
 * what isorun added internal ones; each strength of isolation is a builder of its own, so that a
 * verifier who asks for one does not accept another.
 */
#include "audit/attest.h"

#include <stdio.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/text/base64.h"
#include "runner/base/text/json.h"
#include "runner/base/text/json_read.h"
#include "runner/base/text/strv.h"

#define PAYLOAD_TYPE "application/vnd.in-toto+json"
#define BUILD_TYPE   "https://isorun.invalid/run/v1"

static void add_copy(struct iso_json *json, cJSON *object, const cJSON *receipt, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(receipt, name);
	cJSON *copy = value != NULL ? cJSON_Duplicate(value, true) : NULL;
	if (value != NULL && (copy == NULL || !cJSON_AddItemToObject(object, name, copy)))
		json->failed = true;
}

static const char *text_of(const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
	return text != NULL ? text : "";
}

/* Times of SLSA have no fractions. */
static void add_time(struct iso_json *json, cJSON *object, const char *name, const char *time)
{
	char seconds[ISO_TIMESTAMP_SIZE];
	snprintf(seconds, sizeof(seconds), "%.19sZ", time);
	iso_json_add_text(json, object, name, seconds);
}

static void add_provenance(struct iso_json *json, cJSON *predicate, const cJSON *receipt)
{
	cJSON *definition = iso_json_add_object(json, predicate, "buildDefinition");
	iso_json_add_text(json, definition, "buildType", BUILD_TYPE);
	cJSON *external = iso_json_add_object(json, definition, "externalParameters");
	add_copy(json, external, receipt, "tool");
	add_copy(json, external, receipt, "request_sha256");
	add_copy(json, external, receipt, "policy_sha256");
	cJSON *internal = iso_json_add_object(json, definition, "internalParameters");
	add_copy(json, internal, receipt, "plan_sha256");
	add_copy(json, internal, receipt, "limits");
	add_copy(json, internal, receipt, "isolation");
	(void)iso_json_add_array(json, definition, "resolvedDependencies");

	cJSON *details = iso_json_add_object(json, predicate, "runDetails");
	cJSON *builder = iso_json_add_object(json, details, "builder");
	const cJSON *isolation = cJSON_GetObjectItemCaseSensitive(receipt, "isolation");
	ISO_AUTO_FREE char *id =
		isolation == NULL
			? strdup("https://isorun.invalid/builder/nothing-ran")
			: iso_strf("https://isorun.invalid/builder/%s/cgroup-%s",
				   text_of(isolation, "identity"), text_of(isolation, "cgroup"));
	json->failed |= id == NULL;
	iso_json_add_text(json, builder, "id", id);
	cJSON *version = iso_json_add_object(json, builder, "version");
	iso_json_add_text(json, version, "isorun", ISORUN_VERSION);
	cJSON *metadata = iso_json_add_object(json, details, "metadata");
	iso_json_add_text(json, metadata, "invocationId", text_of(receipt, "id"));
	add_time(json, metadata, "startedOn", text_of(receipt, "started_at"));
	cJSON *result = iso_json_add_object(json, details, "isorun_result");
	add_copy(json, result, receipt, "status");
	add_copy(json, result, receipt, "ok");
	add_copy(json, result, receipt, "exit_code");
	add_copy(json, result, receipt, "signal");
	cJSON *byproducts = iso_json_add_array(json, details, "byproducts");
	static const char *const streams[] = {"stdout", "stderr"};
	for (int i = 0; i < 2; i++) {
		const cJSON *stream = cJSON_GetObjectItemCaseSensitive(receipt, streams[i]);
		const char *digest = text_of(stream, "sha256");
		if (*digest == '\0')
			continue;
		cJSON *item = iso_json_append_object(json, byproducts);
		iso_json_add_text(json, item, "name", streams[i]);
		cJSON *digests = iso_json_add_object(json, item, "digest");
		iso_json_add_text(json, digests, "sha256", digest);
	}
}

static int print_statement(const cJSON *receipt, const char *text, size_t size, char **ret_json,
			   struct iso_error *err)
{
	struct iso_json json;
	char digest[ISO_SHA256_HEX_SIZE];
	iso_sha256_hex(text, size, digest);
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "_type", "https://in-toto.io/Statement/v1");
	cJSON *subjects = iso_json_add_array(&json, root, "subject");
	cJSON *subject = iso_json_append_object(&json, subjects);
	ISO_AUTO_FREE char *name = iso_strf("receipt-%s.json", text_of(receipt, "id"));
	json.failed |= name == NULL;
	iso_json_add_text(&json, subject, "name", name);
	cJSON *digests = iso_json_add_object(&json, subject, "digest");
	iso_json_add_text(&json, digests, "sha256", digest);
	iso_json_add_text(&json, root, "predicateType", "https://slsa.dev/provenance/v1");
	cJSON *predicate = iso_json_add_object(&json, root, "predicate");
	add_provenance(&json, predicate, receipt);
	return iso_json_end(&json, root, ret_json, err);
}

static int print_envelope(const char *statement, const struct iso_audit_key *key, char **ret_json,
			  struct iso_error *err)
{
	uint8_t signature[ISO_SIGNATURE_SIZE];
	char key_id[ISO_SHA256_HEX_SIZE];
	/* DSSE's pre-authentication encoding. */
	ISO_AUTO_FREE char *signed_text = iso_strf("DSSEv1 %zu %s %zu %s", strlen(PAYLOAD_TYPE),
						   PAYLOAD_TYPE, strlen(statement), statement);
	ISO_AUTO_FREE char *payload = iso_base64(statement, strlen(statement));
	if (signed_text == NULL || payload == NULL)
		return iso_error_nomem(err);
	iso_audit_sign(key, signed_text, strlen(signed_text), signature);
	iso_audit_key_id(key, key_id);
	ISO_AUTO_FREE char *encoded = iso_base64(signature, sizeof(signature));
	if (encoded == NULL)
		return iso_error_nomem(err);
	struct iso_json json;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_text(&json, root, "payload", payload);
	iso_json_add_text(&json, root, "payloadType", PAYLOAD_TYPE);
	cJSON *signatures = iso_json_add_array(&json, root, "signatures");
	cJSON *item = iso_json_append_object(&json, signatures);
	iso_json_add_text(&json, item, "keyid", key_id);
	iso_json_add_text(&json, item, "sig", encoded);
	return iso_json_end(&json, root, ret_json, err);
}

int iso_attest(const char *receipt, size_t size, const struct iso_audit_key *key, char **ret_json,
	       struct iso_error *err)
{
	cJSON *root;
	ISO_AUTO_FREE char *statement = NULL;
	if (iso_json_parse("the receipt", receipt, size, &root, err) < 0)
		return -1;
	int status = 0;
	if (strcmp(text_of(root, "schema"), "isorun.receipt/1") != 0 ||
	    *text_of(root, "id") == '\0')
		status = iso_error_set(err, ISO_ERR_INVALID, 0,
				       "export the receipt: it is no receipt of version 1");
	else
		status = print_statement(root, receipt, size, &statement, err);
	cJSON_Delete(root);
	return status < 0 ? -1 : print_envelope(statement, key, ret_json, err);
}
