/* runner/calls: the story of a call, without anything that needs a sandbox. */
#include "tests/needs.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/isorun.h"

static char base[] = "/tmp/isorun-session.XXXXXX";
static char root[64], policy[64], state_dir[64], log_file[64];

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void write_policy(const char *members)
{
	char text[512];
	snprintf(text, sizeof(text), "{\"root\": \"%s\"%s}", root, members);
	put(policy, text);
}

static iso_session *open_session(const char *state, const char *audit)
{
	struct iso_session_options options;
	struct iso_error err = {0};
	iso_session *session = NULL;
	iso_session_options_init(&options);
	options.policy = policy;
	options.state_dir = state;
	options.audit = audit;
	if (iso_session_new(&options, &session, &err) < 0)
		fail_msg("%s", err.message);
	return session;
}

/* The receipt of a call, as a tree that the test deletes. */
static cJSON *call(iso_session *session, const char *tool, const char *arguments, const char *id)
{
	struct iso_tool_call call;
	struct iso_error err = {0};
	char *receipt = NULL;
	int code = -1;
	iso_tool_call_init(&call);
	call.tool = tool;
	call.arguments = arguments;
	call.call_id = id;
	if (iso_session_call(session, &call, &receipt, &code, &err) < 0)
		fail_msg("%s", err.message);
	cJSON *json = cJSON_Parse(receipt);
	assert_non_null(json);
	assert_true((code == 0) == cJSON_IsTrue(cJSON_GetObjectItem(json, "ok")));
	free(receipt);
	return json;
}

static const char *text_of(const cJSON *json, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(json, name));
	return text != NULL ? text : "";
}

static void test_RCPT_1_every_call_ends_in_a_receipt(void **state)
{
	(void)state;
	needs_openat2();
	static const struct {
		const char *tool, *arguments, *named, *status, *error;
	} rows[] = {
		{"filesystem.read", "{\"path\":\"file\"}", "filesystem.read", "completed", ""},
		{"filesystem.read", "{\"path\":\"none\"}", "filesystem.read", "failed",
		 "ToolFailed: open \"none\": No such file or directory"},
		{"filesystem.read", "{\"path\":\"../x\"}", "filesystem.read", "denied",
		 "Denied: Path escapes workspace"},
		{"filesystem.read", "{}", "filesystem.read", "invalid", "Invalid: "},
		{"filesystem.read", "no JSON", "filesystem.read", "invalid", "Invalid: "},
		{"filesystem.write", "{\"path\":\"x\",\"text\":\"\"}", "filesystem.write", "denied",
		 "Denied: Required permission is disabled"},
		{"host.bash", "{\"command\":\"ls\"}", "host.bash", "denied", "Denied: "},
		{"evil\ntool", "{}", "unknown", "invalid", "Invalid: Unknown tool"},
	};
	write_policy("");
	iso_session *session = open_session(NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cJSON *receipt = call(session, rows[i].tool, rows[i].arguments, NULL);
		if (strcmp(text_of(receipt, "tool"), rows[i].named) != 0 ||
		    strcmp(text_of(receipt, "status"), rows[i].status) != 0 ||
		    strncmp(text_of(receipt, "error"), rows[i].error, strlen(rows[i].error)) != 0)
			fail_msg("row %zu: %s, %s, \"%s\"", i, text_of(receipt, "tool"),
				 text_of(receipt, "status"), text_of(receipt, "error"));
		assert_int_equal(strlen(text_of(receipt, "policy_sha256")), 64);
		cJSON_Delete(receipt);
	}
	iso_session_free(session);
}

static void test_RCPT_2_an_id_is_one_call(void **state)
{
	(void)state;
	write_policy("");
	iso_session *session = open_session(NULL, NULL);
	cJSON *first = call(session, "filesystem.read", "{\"path\":\"file\"}", "one");
	cJSON *again = call(session, "filesystem.read", "{ \"path\" : \"file\" }", "one");
	cJSON *other = call(session, "filesystem.read", "{\"path\":\"none\"}", "one");
	assert_string_equal(text_of(first, "id"), text_of(again, "id"));
	assert_string_equal(text_of(other, "error"),
			    "Invalid: Idempotency key reused for different operation");
	cJSON_Delete(first);
	cJSON_Delete(again);
	cJSON_Delete(other);
	iso_session_free(session);
}

static void test_RCPT_2_an_id_outlives_the_session_with_a_state_directory(void **state)
{
	(void)state;
	write_policy("");
	iso_session *session = open_session(state_dir, NULL);
	cJSON *first = call(session, "filesystem.list", "{\"path\":\".\"}", "kept");
	iso_session_free(session);
	session = open_session(state_dir, NULL);
	cJSON *again = call(session, "filesystem.list", "{\"path\":\".\"}", "kept");
	assert_string_equal(text_of(first, "id"), text_of(again, "id"));
	cJSON_Delete(first);
	cJSON_Delete(again);
	iso_session_free(session);
}

static void test_AUD_4_a_policy_that_requires_a_log_gets_one(void **state)
{
	(void)state;
	struct iso_session_options options;
	struct iso_error err = {0};
	iso_session *session = NULL;
	write_policy(", \"audit\": \"required\"");
	iso_session_options_init(&options);
	options.policy = policy;
	assert_int_equal(iso_session_new(&options, &session, &err), -1);
	assert_int_equal(err.code, ISO_ERR_INVALID);
	session = open_session(NULL, log_file);
	cJSON *receipt = call(session, "filesystem.read", "{\"path\":\"file\"}", NULL);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(receipt, "audit_recorded")));
	cJSON_Delete(receipt);
	iso_session_free(session);
	(void)unlink(log_file);
}

static void *read_many(void *argument)
{
	intptr_t wrong = 0;
	for (int i = 0; i < 30; i++) {
		cJSON *receipt = call(argument, "filesystem.read", "{\"path\":\"file\"}", NULL);
		wrong += strcmp(text_of(receipt, "output"), "content") != 0 ||
			 !cJSON_IsTrue(cJSON_GetObjectItem(receipt, "audit_recorded"));
		cJSON_Delete(receipt);
	}
	return (void *)wrong;
}

static void test_AUD_1_calls_at_the_same_time_have_a_line_each(void **state)
{
	(void)state;
	needs_openat2();
	pthread_t threads[8];
	char line[4096];
	int lines = 0;
	write_policy("");
	iso_session *session = open_session(NULL, log_file);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_many, session), 0);
	for (int i = 0; i < 8; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	iso_session_free(session);
	FILE *log = fopen(log_file, "r");
	assert_non_null(log);
	while (fgets(line, sizeof(line), log) != NULL)
		lines++;
	(void)fclose(log);
	assert_int_equal(lines, 8 * 30);
	(void)unlink(log_file);
}

static int make_base(void **state)
{
	char file[80];
	(void)state;
	if (mkdtemp(base) == NULL)
		return -1;
	snprintf(root, sizeof(root), "%s/root", base);
	snprintf(policy, sizeof(policy), "%s/policy", base);
	snprintf(state_dir, sizeof(state_dir), "%s/state", base);
	snprintf(log_file, sizeof(log_file), "%s/log", base);
	snprintf(file, sizeof(file), "%s/file", root);
	if (mkdir(root, 0755) < 0)
		return -1;
	put(file, "content");
	return 0;
}

static int remove_base(void **state)
{
	char command[64];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_RCPT_1_every_call_ends_in_a_receipt),
		cmocka_unit_test(test_RCPT_2_an_id_is_one_call),
		cmocka_unit_test(test_RCPT_2_an_id_outlives_the_session_with_a_state_directory),
		cmocka_unit_test(test_AUD_4_a_policy_that_requires_a_log_gets_one),
		cmocka_unit_test(test_AUD_1_calls_at_the_same_time_have_a_line_each),
	};
	return cmocka_run_group_tests(tests, make_base, remove_base);
}
