/* sandbox/seccomp_custom: which profiles are read, and where the others are wrong. */
#include "tests/test.h"

#include <string.h>

#include "sandbox/filter/seccomp_custom.h"

static int compile(const char *text, struct iso_seccomp_custom *ret_filter, struct iso_error *err)
{
	return iso_seccomp_custom_compile("it", text, strlen(text), ret_filter, err);
}

static void test_profiles_that_are_read(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"{\"defaultAction\":\"SCMP_ACT_ALLOW\"}",
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,\"syscalls\":[]}",
		/* a call of other architectures only, and what holds anyway */
		"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"socketcall\"],"
		"\"action\":\"SCMP_ACT_KILL\"},{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\"}"
		"]}",
		"{\"defaultAction\":\"SCMP_ACT_LOG\",\"syscalls\":[{\"names\":[\"clone\"],"
		"\"action\":"
		"\"SCMP_ACT_ERRNO\",\"args\":[{\"index\":0,\"value\":18446744073709551615,"
		"\"valueTwo\":"
		"0,\"op\":\"SCMP_CMP_MASKED_EQ\"}]}]}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_error err = {0};
		struct iso_seccomp_custom filter = {0};
		if (compile(rows[i], &filter, &err) < 0)
			fail_msg("%s: %s", rows[i], err.message);
		assert_true(filter.count > 0);
		iso_seccomp_custom_done(&filter);
	}
}

static void test_profiles_that_are_refused(void **state)
{
	(void)state;
#define RULE(rule) "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[" rule "]}"
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"[]", "read it: $: an object is needed"},
		{"{}", "read it: $.defaultAction: a string is needed"},
		{"{\"defaultAction\":\"ALLOW\"}", "read it: $.defaultAction: SCMP_ACT_ALLOW, "
						  "_ERRNO, _LOG, _TRAP, _KILL, _KILL_THREAD or "
						  "_KILL_PROCESS is needed"},
		{"{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}",
		 "read it: $.defaultAction: SCMP_ACT_ALLOW, _ERRNO, _LOG, _TRAP, _KILL, "
		 "_KILL_THREAD or "
		 "_KILL_PROCESS is needed"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"defaultErrnoRet\":1}",
		 "read it: $.defaultErrnoRet: only SCMP_ACT_ERRNO takes an errno"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_ARM\"]}",
		 "read it: $.architectures: SCMP_ARCH_X86_64 is not among them"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"archMap\":[]}",
		 "read it: $.archMap: nothing of this name is known"},
		{RULE("{\"names\":[],\"action\":\"SCMP_ACT_KILL\"}"),
		 "read it: $.syscalls[0].names: it is empty"},
		{RULE("{\"names\":[\"read\",\"raed\"],\"action\":\"SCMP_ACT_KILL\"}"),
		 "read it: $.syscalls[0].names[1]: no system call \"raed\" is known"},
		{RULE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":0}"),
		 "read it: $.syscalls[0].errnoRet: a whole number from 1 to 4095 is needed"},
		{RULE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL\",\"includes\":{}}"),
		 "read it: $.syscalls[0].includes: nothing of this name is known"},
		{RULE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL\",\"args\":[{\"index\":6,"
		      "\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}"),
		 "read it: $.syscalls[0].args[0].index: a whole number from 0 to 5 is needed"},
		{RULE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL\",\"args\":[{\"index\":0,"
		      "\"value\":-1,\"op\":\"SCMP_CMP_EQ\"}]}"),
		 "read it: $.syscalls[0].args[0].value: a whole number from 0 to "
		 "18446744073709551615 "
		 "is needed"},
		{RULE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL\",\"args\":[{\"index\":0,"
		      "\"value\":1,\"op\":\"EQ\"}]}"),
		 "read it: $.syscalls[0].args[0].op: SCMP_CMP_NE, _LT, _LE, _EQ, _GE, _GT or "
		 "_MASKED_EQ "
		 "is needed"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_error err = {0};
		struct iso_seccomp_custom filter = {0};
		assert_int_equal(compile(rows[i].text, &filter, &err), -1);
		assert_string_equal(err.message, rows[i].message);
		assert_null(filter.instructions);
	}
}

static void test_the_last_filter_is_kept(void **state)
{
	(void)state;
	static const char first[] = "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}";
	static const char second[] = "{\"defaultAction\":\"SCMP_ACT_LOG\"}";
	struct iso_error err = {0};
	struct iso_seccomp_cache cache;
	struct iso_seccomp_custom one, two, three;
	iso_seccomp_cache_init(&cache);
	assert_int_equal(iso_seccomp_cache_get(&cache, "it", first, strlen(first), &one, &err), 0);
	const struct sock_filter *compiled = cache.last.instructions;
	assert_int_equal(iso_seccomp_cache_get(&cache, "it", first, strlen(first), &two, &err), 0);
	assert_ptr_equal(cache.last.instructions, compiled);
	/* What is handed out is a value of its own. */
	assert_ptr_not_equal(one.instructions, two.instructions);
	assert_int_equal(one.count, two.count);
	assert_memory_equal(one.instructions, two.instructions,
			    one.count * sizeof(*one.instructions));
	assert_int_equal(iso_seccomp_cache_get(&cache, "it", "{", 1, &three, &err), -1);
	assert_ptr_equal(cache.last.instructions, compiled); /* a bad profile changes nothing */
	assert_int_equal(iso_seccomp_cache_get(&cache, "it", second, strlen(second), &three, &err),
			 0);
	assert_string_not_equal(three.profile_sha256, one.profile_sha256);
	iso_seccomp_custom_done(&one);
	iso_seccomp_custom_done(&two);
	iso_seccomp_custom_done(&three);
	iso_seccomp_cache_done(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles_that_are_read),
		cmocka_unit_test(test_profiles_that_are_refused),
		cmocka_unit_test(test_the_last_filter_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
