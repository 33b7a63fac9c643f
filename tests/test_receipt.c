/* runner/receipt and runner/request: what is told, and what makes two requests the same (RCPT). */
#include "tests/test.h"

#include <cjson/cJSON.h>

#include "runner/base/error.h"
#include "runner/engine/receipt.h"
#include "runner/plan/request.h"

static const char *const argv_true[] = {"true", NULL};

static char *print(const struct iso_request *request)
{
	struct iso_error err = {0};
	char *text = NULL;
	assert_int_equal(iso_request_print(request, &text, &err), 0);
	return text;
}

static struct iso_request base_request(void)
{
	struct iso_request request;
	iso_request_init(&request);
	request.argv = argv_true;
	return request;
}

static void test_request_is_canonical_json(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	char *text = print(&request);
	cJSON *json = cJSON_Parse(text);
	assert_int_equal(cJSON_GetArraySize(json), 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(json, 0)), "run");
	const char *last = "";
	const cJSON *member;
	cJSON_ArrayForEach(member, cJSON_GetArrayItem(json, 1))
	{
		if (strcmp(last, member->string) >= 0)
			fail_msg("\"%s\" stands before \"%s\"", last, member->string);
		last = member->string;
	}
	assert_null(strchr(text, ' '));
	cJSON_Delete(json);
	free(text);
}

/* Whatever changes what runs changes the fingerprint; descriptors do not. */
static void test_request_fingerprint_covers_every_field(void **state)
{
	(void)state;
	static const char *const other_argv[] = {"true", "", NULL};
	static const char *const env[] = {"A=1", NULL};
	static const struct iso_mount mount = {.kind = ISO_MOUNT_HIDE, .target = "/x"};
	struct iso_request changed[21];
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++)
		changed[i] = base_request();
	changed[0].argv = other_argv;
	changed[1].workspace = "/w";
	changed[2].workdir = "/w";
	changed[3].workspace_read_only = true;
	changed[4].rootfs = "/r";
	changed[5].mounts = &mount;
	changed[5].mount_count = 1;
	changed[6].env = env;
	changed[7].hostname = "h";
	changed[8].uid = 1;
	changed[9].gid = 1;
	changed[10].memory_max_bytes = 1;
	changed[11].pids_max_count = 1;
	changed[12].cpu_max_millis = 1;
	changed[13].wall_limit_ms = 1;
	changed[14].grace_ms = 1;
	changed[15].nofile_max_count = 1;
	changed[16].fsize_max_bytes = 1;
	changed[17].tmp_size_bytes = 1;
	changed[18].detached = ISO_DETACHED_WAIT;
	changed[19].cgroup_optional = true;
	changed[20].output_limit_bytes = 1;
	struct iso_request request = base_request();
	char *original = print(&request);
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		char *text = print(&changed[i]);
		if (strcmp(text, original) == 0)
			fail_msg("change %zu does not show", i);
		free(text);
	}
	request.stdin_fd = 7;
	request.cancel_fd = 8;
	char *same = print(&request);
	assert_string_equal(same, original);
	free(same);
	free(original);
}

static void test_refused_request_has_a_receipt(void **state)
{
	(void)state;
	struct iso_error reason = {0}, err = {0};
	iso_result *result = NULL;
	char *text = NULL;
	iso_error_set(&reason, ISO_ERR_INVALID, 0, "read option \"--x\": unknown");
	iso_error_hint(&reason, "look it up");
	assert_int_equal(iso_result_new_refused(&reason, &result, &err), 0);
	assert_int_equal(iso_result_exit_code(result), 125);
	assert_int_equal(iso_result_receipt(result, &text, &err), 0);
	cJSON *json = cJSON_Parse(text);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "status")), "invalid");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "error")),
			    "Invalid: read option \"--x\": unknown");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "hint")), "look it up");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(json, "exit_code")));
	assert_null(cJSON_GetObjectItem(json, "stdout"));
	cJSON_Delete(json);
	free(text);
	iso_result_free(result);
}

static void test_error_text_is_bounded_and_valid(void **state)
{
	(void)state;
	struct iso_result result = {.started_unix_ms = 0};
	struct iso_error err = {0};
	char *text = NULL;
	result.outcome.status = ISO_STATUS_FAILED;
	result.outcome.error.code = ISO_ERR_SYSTEM;
	result.outcome.error_class = ISO_CLASS_TIMEOUT;
	size_t lead = strlen("Timeout: ");
	memset(result.outcome.error.message, 'x', sizeof(result.outcome.error.message) - 1);
	memcpy(result.outcome.error.message + 499 - lead, "\xc3\xa4", 2); /* the cut splits it */
	result.outcome.error.message[3] = (char)0xff;
	assert_int_equal(iso_receipt_print(&result, &text, &err), 0);
	cJSON *json = cJSON_Parse(text);
	const char *error = cJSON_GetStringValue(cJSON_GetObjectItem(json, "error"));
	assert_int_equal(strlen(error), 499 + 2); /* U+FFFD takes three bytes for one */
	assert_memory_equal(error, "Timeout: xxx\xEF\xBF\xBDxxx", lead + 9);
	cJSON_Delete(json);
	free(text);
}

static void test_unknown_counters_are_null(void **state)
{
	(void)state;
	struct iso_result result = {
		.launched = true,
		.usage = {ISO_UNKNOWN, 0, ISO_UNKNOWN, 5, ISO_UNKNOWN, UINT64_C(1) << 60},
		.requested = {.cpu_max_millis = ISO_UNLIMITED},
		.identity = {.kind = ISO_IDENTITY_MAPPED},
	};
	struct iso_error err = {0};
	char *text = NULL;
	assert_int_equal(iso_receipt_print(&result, &text, &err), 0);
	assert_non_null(strstr(text, "\"cpu_user_us\":null,\"cpu_system_us\":0,"));
	assert_non_null(strstr(text, "\"pids_limit_hits\":1152921504606846976"));
	assert_non_null(strstr(text, "\"cpu_millis\":{\"requested\":null,"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_is_canonical_json),
		cmocka_unit_test(test_request_fingerprint_covers_every_field),
		cmocka_unit_test(test_refused_request_has_a_receipt),
		cmocka_unit_test(test_error_text_is_bounded_and_valid),
		cmocka_unit_test(test_unknown_counters_are_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
