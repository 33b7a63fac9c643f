/* policy/capability: what a worker asks for, and which answers it refuses (CAP). */
#include "runner/workspace/named_path.h"
#include "tests/test.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/capability.h"
#include "runner/base/text/json_read.h"

#define NOW INT64_C(1700000000000)

static struct iso_binding make_binding(void)
{
	struct iso_binding binding = {
		.command = "ls",
		.cwd = "/usr/bin",
		.workspace = "/usr",
		.generation = "gen",
		.timeout_ms = 1000,
	};
	struct iso_error err = {0};
	assert_int_equal(iso_binding_seal(&binding, &err), 0);
	return binding;
}

static void test_CAP_1_the_binding(void **state)
{
	(void)state;
	struct iso_binding one = make_binding(), two = make_binding();
	assert_int_equal(strlen(one.challenge), 32);
	assert_int_equal(strspn(one.challenge,
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				"0123456789-_"),
			 32);
	assert_string_not_equal(one.challenge, two.challenge);
	assert_string_equal(one.command_sha256,
			    "c7b68ac37f364473e922936708e7f43c293dd07b295171566c07ff5fe024fab9");
	struct iso_json json;
	struct iso_error err = {0};
	char *text;
	cJSON *root = iso_json_begin(&json);
	iso_binding_add(&one, &json, root);
	assert_int_equal(iso_json_end(&json, root, &text, &err), 0);
	static const char *const fields[] = {"\"command\":\"ls\"",     "\"command_sha256\":\"",
					     "\"cwd\":\"/usr/bin\"",   "\"workspace\":\"/usr\"",
					     "\"generation\":\"gen\"", "\"challenge\":\"",
					     "\"timeout\":1.000"};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		assert_non_null(strstr(text, fields[i]));
	free(text);
}

/* A good answer to `binding`, in which `field` is `value` (JSON text; NULL: left out). */
static cJSON *make_answer(const struct iso_binding *binding, const char *field, const char *value)
{
	const struct {
		const char *name;
		char text[128];
	} members[] = {
		{"version", "1"},
		{"token", "\"tttttttttttttttttttttttt\""},
		{"command_sha256", ""},
		{"cwd", "\"/usr/bin\""},
		{"workspace", "\"/usr\""},
		{"allowed_root", "\"/usr\""},
		{"generation", "\"gen\""},
		{"challenge", ""},
		{"issued_at_ms", "1700000000000"},
		{"expires_at_ms", "1700000030000"},
	};
	char text[2048] = "{";
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		char standard[160];
		const char *own = strcmp(members[i].name, "command_sha256") == 0
					  ? binding->command_sha256
				  : strcmp(members[i].name, "challenge") == 0 ? binding->challenge
									      : NULL;
		const char *quote = own != NULL ? "\"" : "";
		snprintf(standard, sizeof(standard), "%s%s%s", quote,
			 own != NULL ? own : members[i].text, quote);
		bool changed = field != NULL && strcmp(field, members[i].name) == 0;
		if (changed && value == NULL)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\"%s\":%s",
			 text[1] != '\0' ? "," : "", members[i].name, changed ? value : standard);
	}
	strcat(text, "}");
	cJSON *root = NULL;
	struct iso_error err = {0};
	assert_int_equal(iso_json_parse("it", text, strlen(text), &root, &err), 0);
	return root;
}

static void test_CAP_2_CAP_3_CAP_4_a_good_answer_is_taken(void **state)
{
	(void)state;
	struct iso_binding binding = make_binding();
	struct iso_capability capability = {0};
	struct iso_error err = {0};
	cJSON *answer = make_answer(&binding, NULL, NULL);
	if (iso_capability_check(answer, &binding, NOW, iso_named_path_is_directory, &capability,
				 &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(capability.token, "tttttttttttttttttttttttt");
	assert_string_equal(capability.allowed_root, "/usr");
	iso_capability_done(&capability);
	cJSON_Delete(answer);
}

static void test_CAP_2_CAP_3_CAP_4_every_field_that_is_wrong_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *field, *value, *message;
	} rows[] = {
		{"version", NULL, "host capability is missing version"},
		{"token", NULL, "host capability is missing token"},
		{"command_sha256", NULL, "host capability is missing command_sha256"},
		{"cwd", NULL, "host capability is missing cwd"},
		{"workspace", NULL, "host capability is missing workspace"},
		{"allowed_root", NULL, "host capability is missing allowed_root"},
		{"generation", NULL, "host capability is missing generation"},
		{"challenge", NULL, "host capability is missing challenge"},
		{"issued_at_ms", NULL, "host capability is missing issued_at_ms"},
		{"expires_at_ms", NULL, "host capability is missing expires_at_ms"},
		{"version", "2", "host capability version is not known"},
		{"version", "\"1\"", "host capability version is not known"},
		{"version", "1.0", "host capability version is not known"},
		{"token", "\"short\"", "host capability token is malformed"},
		{"token", "\"ttttttttttttttttttttttt\"", "host capability token is malformed"},
		{"token", "7", "host capability token is malformed"},
		{"command_sha256", "\"0\"", "host capability does not match: command_sha256"},
		{"command_sha256", "null", "host capability does not match: command_sha256"},
		{"cwd", "\"/usr\"", "host capability does not match: cwd"},
		{"cwd", "\"/usr/bin/\"", "host capability does not match: cwd"},
		{"workspace", "\"/\"", "host capability does not match: workspace"},
		{"generation", "\"Gen\"", "host capability does not match: generation"},
		{"challenge", "\"\"", "host capability does not match: challenge"},
		{"challenge", "[]", "host capability does not match: challenge"},
		{"allowed_root", "\"/usr/\"",
		 "host capability allowed_root is no canonical directory"},
		{"allowed_root", "\"usr\"",
		 "host capability allowed_root is no canonical directory"},
		{"allowed_root", "\"/usr/../usr\"",
		 "host capability allowed_root is no canonical directory"},
		{"allowed_root", "\"/no/such\"",
		 "host capability allowed_root is no canonical directory"},
		{"allowed_root", "\"/etc/passwd\"",
		 "host capability allowed_root is no canonical directory"},
		{"allowed_root", "\"/usr/lib\"", "host capability cwd is outside allowed_root"},
		{"issued_at_ms", "1700000005001", "host capability is issued in the future"},
		{"issued_at_ms", "1699999969999", "host capability lifetime exceeds 60 s"},
		{"issued_at_ms", "\"1700000000000\"", "host capability times are malformed"},
		{"issued_at_ms", "-1", "host capability times are malformed"},
		{"issued_at_ms", "1.7e12", "host capability times are malformed"},
		{"expires_at_ms", "1700000060001", "host capability lifetime exceeds 60 s"},
		{"expires_at_ms", "1700000000000", "host capability expires before it is issued"},
		{"expires_at_ms", "99999999999999999999", "host capability times are malformed"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_binding binding = make_binding();
		struct iso_capability capability = {0};
		struct iso_error err = {0};
		cJSON *answer = make_answer(&binding, rows[i].field, rows[i].value);
		int status = iso_capability_check(answer, &binding, NOW,
						  iso_named_path_is_directory, &capability, &err);
		if (status == 0 || strcmp(err.message, rows[i].message) != 0)
			fail_msg("%s %s: \"%s\"", rows[i].field, rows[i].value, err.message);
		assert_null(capability.token);
		cJSON_Delete(answer);
	}
}

static void test_CAP_4_times_at_their_edges(void **state)
{
	(void)state;
	static const struct {
		int64_t now;
		bool good;
	} rows[] = {{NOW - 5000, true},	 {NOW - 5001, false},  {NOW, true},
		    {NOW + 29999, true}, {NOW + 30000, false}, {0, false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_binding binding = make_binding();
		struct iso_capability capability = {0};
		cJSON *answer = make_answer(&binding, NULL, NULL);
		assert_int_equal(iso_capability_check(answer, &binding, rows[i].now,
						      iso_named_path_is_directory, &capability,
						      NULL),
				 rows[i].good ? 0 : -1);
		iso_capability_done(&capability);
		cJSON_Delete(answer);
	}
}

static void test_CAP_2_what_is_no_capability(void **state)
{
	(void)state;
	static const struct {
		const char *answer, *message;
	} rows[] = {
		{"[]", "host authorization unavailable; command was not executed"},
		{"\"yes\"", "host authorization unavailable; command was not executed"},
		{"{\"error\":\"no\"}", "host authorization refused: no"},
		{"{\"error\":{}}", "host authorization refused: no reason given"},
		{"{}", "host capability is missing version, token, command_sha256, cwd, workspace, "
		       "allowed_root, generation, challenge, issued_at_ms, expires_at_ms"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_binding binding = make_binding();
		struct iso_capability capability = {0};
		struct iso_error err = {0};
		cJSON *answer = NULL;
		assert_int_equal(
			iso_json_parse("it", rows[i].answer, strlen(rows[i].answer), &answer, &err),
			0);
		assert_int_equal(iso_capability_check(answer, &binding, NOW,
						      iso_named_path_is_directory, &capability,
						      &err),
				 -1);
		assert_string_equal(err.message, rows[i].message);
		cJSON_Delete(answer);
	}
}

static void test_CAP_5_a_token_is_used_once_within_a_bounded_window(void **state)
{
	(void)state;
	struct iso_replay_window window = {0};
	struct iso_error err = {0};
	char token[32];
	assert_int_equal(iso_replay_mark(&window, "first", &err), 0);
	assert_int_equal(iso_replay_mark(&window, "first", &err), -1);
	assert_string_equal(err.message, "host capability token replayed");
	for (int i = 0; i < ISO_REPLAY_WINDOW - 1; i++) {
		snprintf(token, sizeof(token), "token %d", i);
		assert_int_equal(iso_replay_mark(&window, token, &err), 0);
	}
	assert_int_equal(iso_replay_mark(&window, "first", &err), -1); /* still within */
	assert_int_equal(iso_replay_mark(&window, "one more", &err), 0);
	assert_int_equal(iso_replay_mark(&window, "first", &err), 0); /* the authority knows it */
	iso_replay_done(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_CAP_1_the_binding),
		cmocka_unit_test(test_CAP_2_CAP_3_CAP_4_a_good_answer_is_taken),
		cmocka_unit_test(test_CAP_2_CAP_3_CAP_4_every_field_that_is_wrong_is_refused),
		cmocka_unit_test(test_CAP_4_times_at_their_edges),
		cmocka_unit_test(test_CAP_2_what_is_no_capability),
		cmocka_unit_test(test_CAP_5_a_token_is_used_once_within_a_bounded_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
