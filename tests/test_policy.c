/* policy/: parsing (POL), names (PATH), tools (TOOL), decisions (POL-8) as pure functions. */
#include "tests/test.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/evaluate.h"
#include "policy/names.h"
#include "runner/base/text/json_read.h"

static int parse(const char *text, struct iso_policy *policy, struct iso_error *err)
{
	return iso_policy_parse("it", text, strlen(text), policy, err);
}

static void test_POL_2_defaults(void **state)
{
	(void)state;
	struct iso_policy policy;
	struct iso_error err = {0};
	assert_int_equal(parse("{\"root\":\"/w\"}", &policy, &err), 0);
	assert_string_equal(policy.root, "/w");
	assert_int_equal(policy.permissions, ISO_PERMISSION_READ);
	assert_int_equal(policy.command_count, 0);
	assert_int_equal(policy.timeout_ms, 30000);
	assert_int_equal(policy.bash_timeout_ms, 120000);
	assert_int_equal(policy.output_limit_bytes, 16000);
	assert_int_equal(policy.max_file_bytes, 1000000);
	iso_policy_done(&policy);
}

static void test_POL_3_the_six_permissions(void **state)
{
	(void)state;
	struct iso_policy policy;
	struct iso_error err = {0};
	assert_int_equal(parse("{\"root\":\"/w\",\"permissions\":[\"READ\",\"WRITE\",\"EXECUTE\","
			       "\"NETWORK\",\"PRIVILEGED\",\"IRREVERSIBLE\"]}",
			       &policy, &err),
			 0);
	assert_int_equal(policy.permissions, 63);
	iso_policy_done(&policy);
	assert_int_equal(parse("{\"root\":\"/w\",\"permissions\":[\"read\"]}", &policy, &err), -1);
	assert_string_equal(err.message,
			    "read it: $.permissions[0]: READ, WRITE, EXECUTE, NETWORK, "
			    "PRIVILEGED or IRREVERSIBLE is needed");
}

/* Members that stand beside a good root, and where each is wrong. */
/* A member that makes a policy wrong, and where the message says so. */
static const struct {
	const char *member, *place;
} wrong_members[] = {
	{"\"timeout_seconds\":0", "$.timeout_seconds"},
	{"\"timeout_seconds\":-1", "$.timeout_seconds"},
	{"\"timeout_seconds\":1e999", "$.timeout_seconds"},
	{"\"timeout_seconds\":\"30\"", "$.timeout_seconds"},
	{"\"timeout_seconds\":null", "$.timeout_seconds"},
	{"\"timeout_seconds\":true", "$.timeout_seconds"},
	{"\"bash_timeout_seconds\":0", "$.bash_timeout_seconds"},
	{"\"output_limit\":0", "$.output_limit"},
	{"\"output_limit\":-5", "$.output_limit"},
	{"\"output_limit\":1.5", "$.output_limit"},
	{"\"output_limit\":1e3", "$.output_limit"},
	{"\"output_limit\":99999999999999999999", "$.output_limit"},
	{"\"max_file_bytes\":0", "$.max_file_bytes"},
	{"\"max_file_bytes\":2.0", "$.max_file_bytes"},
	{"\"max_file_bytes\":[1]", "$.max_file_bytes"},
	{"\"limits\":{\"memory\":0}", "$.limits.memory"},
	{"\"limits\":{\"memory\":\"0\"}", "$.limits.memory"},
	{"\"limits\":{\"memory\":\"unlimited\"}", "$.limits.memory"},
	{"\"limits\":{\"memory\":\"64 M\"}", "$.limits.memory"},
	{"\"limits\":{\"pids\":0}", "$.limits.pids"},
	{"\"limits\":{\"pids\":\"10\"}", "$.limits.pids"},
	{"\"limits\":{\"cpus\":0}", "$.limits.cpus"},
	{"\"limits\":{\"cpus\":-2}", "$.limits.cpus"},
	{"\"limits\":{\"nofile\":2}", "$.limits.nofile"},
	{"\"limits\":{\"fsize\":-1}", "$.limits.fsize"},
	{"\"limits\":{\"tmp\":\"\"}", "$.limits.tmp"},
	{"\"limits\":{\"disk\":1}", "$.limits.disk"},
	{"\"limits\":[]", "$.limits"},
	{"\"commands\":{\"a\":[]}", "$.commands.a"},
	{"\"commands\":{\"a\":\"ls\"}", "$.commands.a"},
	{"\"commands\":{\"a\":[\"ls\",\"\"]}", "$.commands.a[1]"},
	{"\"commands\":{\"a\":[\"ls\",1]}", "$.commands.a[1]"},
	{"\"commands\":{\"a\":[\"l\\u0000s\"]}", "$.commands.a[0]"},
	{"\"commands\":{\"\":[\"ls\"]}", "$.commands."},
	{"\"commands\":[\"ls\"]", "$.commands"},
	{"\"permissions\":\"READ\"", "$.permissions"},
	{"\"permissions\":[1]", "$.permissions[0]"},
	{"\"mounts\":[{\"source\":\"opt\"}]", "$.mounts[0].source"},
	{"\"mounts\":[{\"source\":\"/opt\",\"mode\":\"rwx\"}]", "$.mounts[0].mode"},
	{"\"mounts\":[{\"target\":\"/opt\"}]", "$.mounts[0].source"},
	{"\"mounts\":[{\"source\":\"/opt\",\"type\":1}]", "$.mounts[0].type"},
	{"\"environment\":{\"pass\":[\"A=B\"]}", "$.environment.pass[0]"},
	{"\"environment\":{\"set\":{\"A\":1}}", "$.environment.set.A"},
	{"\"environment\":{\"set\":{\"A=B\":\"c\"}}", "$.environment.set.A=B"},
	{"\"network\":{\"allow\":[\"*\"]}", "$.network.allow[0]"},
	{"\"network\":{\"allow\":[\"Example.org\"]}", "$.network.allow[0]"},
	{"\"network\":{\"deny\":[]}", "$.network.deny"},
	{"\"network\":\"none\"", "$.network"},
	{"\"private_names\":[\"a/b\"]", "$.private_names[0]"},
	{"\"private_names\":[\"\"]", "$.private_names[0]"},
	{"\"protected_paths\":[\"/etc\"]", "$.protected_paths[0]"},
	{"\"protected_paths\":[\"a/../../b\"]", "$.protected_paths[0]"},
	{"\"seccomp\":\"tight.json\"", "$.seccomp"},
	{"\"detached\":\"keep\"", "$.detached"},
	{"\"audit\":true", "$.audit"},
	{"\"allow_host_execution\":false", "$.allow_host_execution"},
	{"\"alow\":1", "$.alow"},
	{"\"root\":\"/w\"", "$.root"},
};

static void test_POL_4_POL_5_POL_6_POL_7_what_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong_members); i++) {
		char text[512], expected[128];
		struct iso_policy policy;
		struct iso_error err = {0};
		snprintf(text, sizeof(text), "{\"root\":\"/w\",%s}", wrong_members[i].member);
		snprintf(expected, sizeof(expected), "read it: %s: ", wrong_members[i].place);
		if (parse(text, &policy, &err) == 0 ||
		    strncmp(err.message, expected, strlen(expected)) != 0)
			fail_msg("%s: got \"%s\", expected \"%s…\"", text, err.message, expected);
	}
}

static void test_POL_4_a_root_is_needed_and_nothing_runs_on_the_host(void **state)
{
	(void)state;
	struct iso_policy policy;
	struct iso_error err = {0};
	assert_int_equal(parse("{}", &policy, &err), -1);
	assert_string_equal(err.message, "read it: $.root: it is required");
	assert_int_equal(parse("{\"root\":\"w\"}", &policy, &err), -1);
	assert_int_equal(parse("{\"root\":\"/w\",\"allow_host_execution\":true}", &policy, &err),
			 -1);
	assert_string_equal(err.message,
			    "read it: $.allow_host_execution: this field does not exist: "
			    "isorun never executes on the host");
}

static void test_POL_7_every_field_is_read(void **state)
{
	(void)state;
	static const char text[] =
		"{\"root\":\"/"
		"w\",\"permissions\":[\"EXECUTE\"],\"commands\":{\"t\":[\"make\",\"test\"]},"
		"\"timeout_seconds\":1.5,\"output_limit\":7,\"max_file_bytes\":8,"
		"\"limits\":{\"memory\":\"64M\",\"pids\":9,\"cpus\":0.5,\"nofile\":10,\"fsize\":11,"
		"\"tmp\":12},\"mounts\":[{\"source\":\"/a\",\"target\":\"/b\",\"mode\":\"rw\"},"
		"{\"source\":\"/c\"}],\"environment\":{\"pass\":[\"LANG\"],\"set\":{\"CI\":\"1\"}},"
		"\"network\":{\"allow\":[\"*.example.org\"]},\"private_names\":[\"secrets\"],"
		"\"protected_paths\":[\".git/hooks\"],\"seccomp\":\"/p.json\","
		"\"capabilities\":[\"net_raw\"],\"detached\":\"wait\",\"audit\":\"required\"}";
	struct iso_policy policy;
	struct iso_error err = {0};
	assert_int_equal(parse(text, &policy, &err), 0);
	assert_string_equal(iso_policy_find_command(&policy, "t")->argv.items[1], "test");
	assert_null(iso_policy_find_command(&policy, "u"));
	assert_int_equal(policy.timeout_ms, 1500);
	assert_int_equal(policy.limits.memory_bytes, 64 << 20);
	assert_int_equal(policy.limits.cpu_millis, 500);
	assert_int_equal(policy.limits.tmp_bytes, 12);
	assert_true(policy.mounts[0].writable && !policy.mounts[1].writable);
	assert_string_equal(policy.mounts[0].target, "/b");
	assert_string_equal(policy.mounts[1].target, "/c");
	assert_string_equal(policy.set_environment.items[0], "CI=1");
	assert_string_equal(policy.network_allow.items[0], "*.example.org");
	assert_string_equal(policy.seccomp, "/p.json");
	assert_true(policy.audit_required && policy.detached == ISO_DETACHED_WAIT);
	iso_policy_done(&policy);
}

static void test_PATH_1_PATH_3_names(void **state)
{
	(void)state;
	static const char *const relative[] = {"a", "a/b", ".", "./a", "..", "a b", "-x", "a\\b"};
	static const char *const refused[] = {"", "/", "/a", "C:", "c:/x", "a:b", "\\\\server\\x"};
	static const char *const private_paths[] = {
		".git",	      ".git/config", "a/.git/b",    "a/.GIT", ".Ssh/x",	 "x/.aws",
		".env",	      "a/.ENV",	     ".env.local",  ".Env.x", "private", "a/Private/b",
		".cache/pip", "secrets",     "a/SECRETS/b", "./.git", "a//.git"};
	static const char *const open_paths[] = {
		"a",	 ".github", ".gitignore", "git", ".environment", "private.txt",
		"x.env", "cache",   "secret",	  ".",	 "a/.envrc",	 "privates"};
	static char *names[] = {(char *)"secrets", NULL};
	const struct iso_strv more = {names, 1};
	for (size_t i = 0; i < ARRAY_SIZE(relative); i++)
		assert_true(iso_name_is_relative(relative[i]));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (iso_name_is_relative(refused[i]))
			fail_msg("\"%s\" is taken for relative", refused[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(private_paths); i++) {
		if (!iso_name_is_private(private_paths[i], &more))
			fail_msg("\"%s\" is not private", private_paths[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(open_paths); i++) {
		if (iso_name_is_private(open_paths[i], &more))
			fail_msg("\"%s\" is private", open_paths[i]);
	}
}

static void test_TOOL_1_arguments_are_held_against_the_schema(void **state)
{
	(void)state;
	static const struct {
		const char *tool, *arguments, *message;
	} rows[] = {
		{"filesystem.erase", "{}", "Unknown tool"},
		{"", "{}", "Unknown tool"},
		{"filesystem.read", NULL, "read the arguments: $.path: it is required"},
		{"filesystem.read", "{\"path\":\"\"}",
		 "Only relative workspace paths are accepted"},
		{"filesystem.read", "{\"path\":1}",
		 "read the arguments: $.path: a string is needed"},
		{"filesystem.read", "{\"path\":\"a\",\"mode\":\"x\"}",
		 "read the arguments: $.mode: nothing of this name is known"},
		{"filesystem.read", "{\"path\":\"a\",\"path\":\"b\"}",
		 "read the arguments: $.path: this name is there twice (line 1)"},
		{"filesystem.read", "{\"path\":\"a\\u0000b\"}",
		 "Only relative workspace paths are accepted"},
		{"filesystem.write", "{\"path\":\"a\",\"text\":\"a\\u0000b\"}",
		 "read the arguments: $.text: NUL in a string (line 1)"},
		{"filesystem.read", "[]", "read the arguments: $: an object is needed"},
		{"filesystem.read", "{\"path\":\"a\"} x",
		 "read the arguments: $: something stands behind the value (line 1)"},
		{"filesystem.write", "{\"path\":\"a\"}",
		 "read the arguments: $.text: it is required"},
		{"filesystem.write", "{\"path\":\"a\",\"text\":\"\",\"expected_sha256\":\"12\"}",
		 "read the arguments: $.expected_sha256: 64 hexadecimal digits are needed"},
		{"shell.exec", "{\"command\":\"\"}",
		 "read the arguments: $.command: a string that is not empty is needed"},
		{"git.diff", "{\"path\":\"a\"}",
		 "read the arguments: $.path: nothing of this name is known"},
		{"host.bash", "{\"command\":\"ls\",\"timeout\":0}",
		 "read the arguments: $.timeout: a positive number of seconds is needed"},
		{"host.bash", "{\"command\":\"ls\",\"timeout\":1e999}",
		 "read the arguments: $.timeout: a positive number of seconds is needed"},
		{"host.bash", "{\"command\":\"ls\",\"timeout\":\"5\"}",
		 "read the arguments: $.timeout: a positive number of seconds is needed"},
		{"host.bash", "{\"command\":\"ls\",\"workdir\":\"\"}",
		 "read the arguments: $.workdir: a string that is not empty is needed"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_call call;
		struct iso_error err = {0};
		assert_int_equal(iso_call_read(rows[i].tool, rows[i].arguments, &call, &err), -1);
		assert_string_equal(err.message, rows[i].message);
	}
	struct iso_call call;
	struct iso_error err = {0};
	assert_int_equal(
		iso_call_read("filesystem.write", "{\"path\":\"a\",\"text\":\"\"}", &call, &err),
		0);
	assert_string_equal(call.text, ""); /* which may be empty */
	iso_call_done(&call);
	assert_int_equal(iso_call_read("git.diff", NULL, &call, &err), 0);
	iso_call_done(&call);
}

static void test_RCPT_2_the_fingerprint_is_of_canonical_json(void **state)
{
	(void)state;
	struct iso_call call;
	struct iso_error err = {0};
	assert_int_equal(iso_call_read("filesystem.write",
				       " { \"text\" : \"\\u00e9\\n\" , \"path\" : \"a\" } ", &call,
				       &err),
			 0);
	assert_string_equal(call.canonical,
			    "[\"filesystem.write\",{\"path\":\"a\",\"text\":\"\xc3\xa9\\n\"}]");
	iso_call_done(&call);
}

/* One policy, many requests: who decides what. */
static void check_decision(const char *policy_text, const char *tool, const char *arguments,
			   const char *rule, const char *sentence)
{
	struct iso_policy policy;
	struct iso_call call;
	struct iso_decision decision;
	struct iso_error err = {0};
	assert_int_equal(parse(policy_text, &policy, &err), 0);
	assert_int_equal(iso_call_read(tool, arguments, &call, &err), 0);
	iso_evaluate(&policy, &call, NULL, &decision);
	if (strcmp(decision.rule, rule) != 0 || decision.allowed != (sentence == NULL) ||
	    (sentence != NULL && strcmp(decision.sentence, sentence) != 0))
		fail_msg("%s %s: %s %s \"%s\"", tool, arguments, decision.rule,
			 decision.allowed ? "allows" : "denies", decision.sentence);
	iso_call_done(&call);
	iso_policy_done(&policy);
}

#define READER "{\"root\":\"/w\"}"
#define WORKER                                                                                    \
	"{\"root\":\"/w\",\"permissions\":[\"READ\",\"WRITE\",\"EXECUTE\"],\"max_file_bytes\":3," \
	"\"commands\":{\"test\":[\"make\",\"test\"]},\"network\":{\"allow\":[\"example.org\"]}}"
#define ONLINE                                                                               \
	"{\"root\":\"/w\",\"permissions\":[\"EXECUTE\",\"NETWORK\"],\"network\":{\"allow\":" \
	"[\"example.org\"]}}"
#define UNPRIVILEGED \
	"{\"root\":\"/w\",\"permissions\":[\"EXECUTE\"],\"capabilities\":[\"net_raw\"]}"

static void test_POL_8_TOOL_1_TOOL_7_SHELL_1_NET_1_CAP_9_decisions(void **state)
{
	(void)state;
	static const char disabled[] = "Required permission is disabled";
	check_decision(READER, "filesystem.read", "{\"path\":\"a\"}", "TOOL-1", NULL);
	check_decision(READER, "filesystem.write", "{\"path\":\"a\",\"text\":\"x\"}", "TOOL-1",
		       disabled);
	check_decision(READER, "shell.exec", "{\"command\":\"test\"}", "TOOL-1", disabled);
	check_decision(READER, "git.diff", "{}", "TOOL-1", disabled);
	check_decision(READER, "host.bash", "{\"command\":\"ls\"}", "TOOL-1", disabled);
	check_decision(READER, "filesystem.read", "{\"path\":\"/etc/passwd\"}", "PATH-1",
		       "Only relative workspace paths are accepted");
	check_decision(READER, "filesystem.read", "{\"path\":\"a/.env\"}", "PATH-3",
		       "Private or control path is excluded");
	check_decision(WORKER, "filesystem.write", "{\"path\":\"a\",\"text\":\"four\"}", "POL-2",
		       "File exceeds configured write limit");
	check_decision(WORKER, "shell.exec", "{\"command\":\"test\"}", "TOOL-1", NULL);
	check_decision(WORKER, "shell.exec", "{\"command\":\"make test\"}", "TOOL-7",
		       "Command is not configured by the owner");
	check_decision(WORKER, "host.bash", "{\"command\":\"ls\",\"timeout\":120}", "TOOL-1", NULL);
	check_decision(WORKER, "host.bash", "{\"command\":\"ls\",\"timeout\":120.001}", "RUN-7",
		       "The timeout exceeds what the policy allows");
	check_decision(WORKER, "host.bash", "{\"command\":\" \\n\"}", "RUN-9",
		       "The command is blank");
	check_decision(WORKER, "host.bash", "{\"command\":\"rm -rf /\"}", "SHELL-1",
		       "recursive removal of /");
	check_decision(WORKER, "host.bash", "{\"command\":\"curl https://example.org\"}", "NET-1",
		       "domain example.org is outside the egress allowlist"); /* no NETWORK */
	check_decision(ONLINE, "host.bash", "{\"command\":\"curl https://example.org\"}", "TOOL-1",
		       NULL);
	check_decision(ONLINE, "host.bash", "{\"command\":\"curl https://x.org\"}", "NET-1",
		       "domain x.org is outside the egress allowlist");
	check_decision(UNPRIVILEGED, "host.bash", "{\"command\":\"ls\"}", "POL-9",
		       "Required permission is disabled: PRIVILEGED, for the capabilities");
}

static void test_POL_8_RUN_7_what_is_granted(void **state)
{
	(void)state;
	struct iso_policy policy;
	struct iso_call call;
	struct iso_decision decision, again;
	struct iso_error err = {0};
	char *text;
	assert_int_equal(parse(WORKER, &policy, &err), 0);
	assert_int_equal(
		iso_call_read("host.bash", "{\"command\":\"ls\",\"timeout\":5}", &call, &err), 0);
	iso_evaluate(&policy, &call, "/w", &decision);
	iso_evaluate(&policy, &call, "/w", &again);
	assert_memory_equal(&decision, &again, sizeof(decision));
	assert_true(decision.workspace_write && decision.wall_limit_ms == 5000);
	assert_int_equal(decision.detached, ISO_DETACHED_WAIT); /* the default of host.bash */
	assert_int_equal(iso_decision_explain(&policy, &call, &decision, &text, &err), 0);
	assert_non_null(strstr(text, "host.bash: allowed\nrule: TOOL-1\n"));
	assert_non_null(strstr(text, "wall limit: 5000 ms\n"));
	free(text);
	iso_call_done(&call);
	assert_int_equal(iso_call_read("shell.exec", "{\"command\":\"test\"}", &call, &err), 0);
	iso_evaluate(&policy, &call, NULL, &decision);
	assert_int_equal(decision.detached, ISO_DETACHED_KILL); /* and elsewhere */
	assert_int_equal(decision.wall_limit_ms, 30000);
	iso_call_done(&call);
	iso_policy_done(&policy);
}

static void test_TOOL_2_the_list_holds_what_is_permitted(void **state)
{
	(void)state;
	static const struct {
		const char *policy, *names;
	} rows[] = {
		{READER, "filesystem.read filesystem.list "},
		{"{\"root\":\"/w\",\"permissions\":[]}", ""},
		{"{\"root\":\"/w\",\"permissions\":[\"WRITE\"]}", "filesystem.write "},
		{"{\"root\":\"/w\",\"permissions\":[\"EXECUTE\"]}", "host.bash "},
		{WORKER, "filesystem.read filesystem.list filesystem.write shell.exec git.diff "
			 "host.bash "},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_policy policy;
		struct iso_error err = {0};
		char *text, names[256] = "";
		assert_int_equal(parse(rows[i].policy, &policy, &err), 0);
		assert_int_equal(iso_tools_print(&policy, &text, &err), 0);
		cJSON *list = cJSON_Parse(text);
		const cJSON *tool;
		cJSON_ArrayForEach(tool, list)
		{
			const cJSON *schema = cJSON_GetObjectItem(tool, "inputSchema");
			strcat(strcat(names, cJSON_GetObjectItem(tool, "name")->valuestring), " ");
			assert_true(
				cJSON_IsFalse(cJSON_GetObjectItem(schema, "additionalProperties")));
			assert_true(cJSON_IsArray(cJSON_GetObjectItem(schema, "required")));
		}
		assert_string_equal(names, rows[i].names);
		cJSON_Delete(list);
		free(text);
		iso_policy_done(&policy);
	}
}

/* Every row of the table is found by its name, and its arguments have places in a call. */
static void test_TOOL_1_the_table_walks_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < iso_tool_count; i++) {
		assert_ptr_equal(iso_tool_find(iso_tools[i].name), &iso_tools[i]);
		assert_true(iso_tools[i].permissions != 0);
	}
	for (unsigned int number = 0; number < ISO_PERMISSION_COUNT; number++)
		assert_true(iso_permission_name(number)[0] != '\0');
	assert_string_equal(iso_permission_name(ISO_PERMISSION_COUNT), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_POL_2_defaults),
		cmocka_unit_test(test_POL_3_the_six_permissions),
		cmocka_unit_test(test_POL_4_POL_5_POL_6_POL_7_what_is_refused),
		cmocka_unit_test(test_POL_4_a_root_is_needed_and_nothing_runs_on_the_host),
		cmocka_unit_test(test_POL_7_every_field_is_read),
		cmocka_unit_test(test_PATH_1_PATH_3_names),
		cmocka_unit_test(test_TOOL_1_arguments_are_held_against_the_schema),
		cmocka_unit_test(test_RCPT_2_the_fingerprint_is_of_canonical_json),
		cmocka_unit_test(test_POL_8_TOOL_1_TOOL_7_SHELL_1_NET_1_CAP_9_decisions),
		cmocka_unit_test(test_POL_8_RUN_7_what_is_granted),
		cmocka_unit_test(test_TOOL_2_the_list_holds_what_is_permitted),
		cmocka_unit_test(test_TOOL_1_the_table_walks_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
