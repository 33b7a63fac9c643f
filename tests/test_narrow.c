/* runner/grant/narrow: whatever is asked for, nothing is granted that the policy alone does not. */
#include "tests/test.h"

#include <stdio.h>

#include "runner/grant/narrow.h"
#include "runner/plan/defaults.h"

#define MIB	(UINT64_C(1) << 20)
#define MACHINE (UINT64_C(8) << 30)

/* A policy that says something of everything that has an order. */
static struct iso_policy test_policy(void)
{
	static char name[] = "TERM";
	static char *names[] = {name, NULL};
	static char root[] = "/src";
	return (struct iso_policy){
		.root = root,
		.permissions = ISO_PERMISSION_READ | ISO_PERMISSION_EXECUTE,
		.timeout_ms = 30000,
		.output_limit_bytes = 16000,
		.pass_environment = {names, 1},
		.limits = {ISO_DEFAULT, ISO_DEFAULT, ISO_DEFAULT, ISO_DEFAULT, ISO_DEFAULT,
			   ISO_DEFAULT},
	};
}

static struct iso_request fresh(void)
{
	struct iso_request request;
	iso_request_init(&request);
	return request;
}

static int narrow(const struct iso_policy *policy, const struct iso_request *granted,
		  const struct iso_request *request, struct iso_narrowed *narrowed,
		  struct iso_error *err)
{
	const struct iso_strv nothing = {NULL, 0};
	const struct iso_asked asked = {request, NULL, &nothing};
	return iso_narrow(policy, granted, &asked, MACHINE, narrowed, err);
}

/* Each limit as a number in the request. */
static const struct limit {
	const char *name;
	size_t offset;
	uint64_t standard; /* what holds where the policy is silent; ISO_UNLIMITED: nothing */
} limits[] = {
	{"memory", offsetof(struct iso_request, memory_max_bytes), UINT64_C(2) << 30},
	{"pids", offsetof(struct iso_request, pids_max_count), ISO_DEFAULT_PIDS},
	{"nofile", offsetof(struct iso_request, nofile_max_count), ISO_DEFAULT_NOFILE_HARD},
	{"tmp", offsetof(struct iso_request, tmp_size_bytes), ISO_DEFAULT_TMP_BYTES},
	{"cpu", offsetof(struct iso_request, cpu_max_millis), ISO_UNLIMITED},
	{"fsize", offsetof(struct iso_request, fsize_max_bytes), ISO_UNLIMITED},
};

static uint64_t *member(struct iso_request *request, const struct limit *limit)
{
	return (uint64_t *)(void *)((char *)request + limit->offset);
}

static void test_limits_take_the_smaller_value(void **state)
{
	(void)state;
	const struct iso_policy policy = test_policy();
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct iso_request defaults = fresh();
		const uint64_t silent = *member(&defaults, &limits[i]);
		const struct {
			uint64_t granted, asked, expected;
		} rows[] = {
			{1000, 500, 500},
			{500, 1000, 500},
			{1000, silent, 1000},
			{1000, ISO_UNLIMITED, 1000},
			{silent, 700, 700},
			{silent, silent, silent},
			/* More than the policy's silence grants is not to be had. */
			{ISO_DEFAULT, UINT64_C(1) << 60,
			 limits[i].standard == ISO_UNLIMITED ? UINT64_C(1) << 60
							     : limits[i].standard},
		};
		for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
			struct iso_request granted = fresh(), asked = fresh();
			struct iso_narrowed narrowed;
			struct iso_error err = {0};
			*member(&granted, &limits[i]) = rows[row].granted;
			*member(&asked, &limits[i]) = rows[row].asked;
			assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err), 0);
			if (*member(&narrowed.request, &limits[i]) != rows[row].expected)
				fail_msg(
					"%s, row %zu: %llx", limits[i].name, row,
					(unsigned long long)*member(&narrowed.request, &limits[i]));
			iso_narrowed_done(&narrowed);
		}
	}
}

static void test_time_and_output_are_the_policys_at_most(void **state)
{
	(void)state;
	const struct iso_policy policy = test_policy();
	const struct iso_request granted = fresh();
	struct iso_request asked = fresh();
	struct iso_narrowed narrowed;
	struct iso_error err = {0};
	assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err), 0);
	assert_true(narrowed.request.wall_limit_ms == 30000);
	assert_true(narrowed.request.output_limit_bytes == 16000);
	iso_narrowed_done(&narrowed);
	asked.wall_limit_ms = 100000;
	asked.grace_ms = 3600000; /* behind the limit, and part of it */
	asked.output_limit_bytes = 100;
	assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err), 0);
	assert_true(narrowed.request.wall_limit_ms == 30000);
	assert_true(narrowed.request.grace_ms == ISO_DEFAULT_GRACE_MS);
	iso_narrowed_done(&narrowed);
	asked.grace_ms = 0;
	assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err), 0);
	assert_true(narrowed.request.grace_ms == 0);
	assert_true(narrowed.request.output_limit_bytes == 100);
	iso_narrowed_done(&narrowed);
}

/* One thing at a time that a policy has to have said. */
static const struct iso_mount bind_ro = {.kind = ISO_MOUNT_RO, .source = "/opt"};
static const struct iso_mount bind_rw = {.kind = ISO_MOUNT_RW, .source = "/opt"};
static void ask_rootfs(struct iso_request *request)
{
	request->rootfs = "/image";
}
static void ask_cgroup(struct iso_request *request)
{
	request->cgroup_optional = true;
}
static void ask_cap(struct iso_request *request)
{
	request->capabilities = 1 << 13;
}
static void ask_ro(struct iso_request *request)
{
	request->mounts = &bind_ro;
	request->mount_count = 1;
}
static void ask_rw(struct iso_request *request)
{
	request->mounts = &bind_rw;
	request->mount_count = 1;
}
static void ask_seccomp(struct iso_request *request)
{
	request->seccomp_profile = "/another.json";
}

static void test_what_widens_is_refused_by_name(void **state)
{
	(void)state;
	static const struct {
		void (*ask)(struct iso_request *request);
		const char *option;
	} rows[] = {
		{ask_rootfs, "--rootfs"}, {ask_cgroup, "--cgroup"}, {ask_cap, "--cap"},
		{ask_ro, "--ro"},	  {ask_rw, "--rw"},	    {ask_seccomp, "--seccomp"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_policy policy = test_policy();
		struct iso_request granted = fresh(), asked = fresh();
		struct iso_narrowed narrowed = {.mounts = NULL};
		struct iso_error err = {0};
		static char profile[] = "/profile.json";
		policy.seccomp = profile;
		rows[i].ask(&asked);
		assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err), -1);
		assert_int_equal(err.code, ISO_ERR_DENIED);
		if (strstr(err.message, rows[i].option) == NULL)
			fail_msg("%s: \"%s\"", rows[i].option, err.message);
	}
}

static void test_a_capability_needs_the_permission_and_the_policys_word(void **state)
{
	(void)state;
	static const struct {
		uint32_t permissions;
		uint64_t granted, asked;
		int status;
	} rows[] = {
		{ISO_PERMISSION_EXECUTE, 1, 1, -1},
		{ISO_PERMISSION_EXECUTE | ISO_PERMISSION_PRIVILEGED, 1, 1, 0},
		{ISO_PERMISSION_EXECUTE | ISO_PERMISSION_PRIVILEGED, 1, 3, -1},
		{ISO_PERMISSION_EXECUTE | ISO_PERMISSION_PRIVILEGED, 3, 1, 0},
		{ISO_PERMISSION_READ, 0, 0, -1}, /* nothing runs without EXECUTE */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_policy policy = test_policy();
		struct iso_request granted = fresh(), asked = fresh();
		struct iso_narrowed narrowed = {.mounts = NULL};
		struct iso_error err = {0};
		policy.permissions = rows[i].permissions;
		granted.capabilities = rows[i].granted;
		asked.capabilities = rows[i].asked;
		assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err),
				 rows[i].status);
		iso_narrowed_done(&narrowed);
	}
}

static void test_variables_and_places_must_be_the_policys(void **state)
{
	(void)state;
	static char term[] = "TERM", secret[] = "SECRET";
	static const struct {
		char *passed;
		const char *workspace, *refused; /* NULL: it is fine */
	} rows[] = {
		{term, NULL, NULL},
		{secret, NULL, "--pass-env"},
		{NULL, "/src", NULL},
		{NULL, "/src/below", NULL},
		{NULL, "/srcery", "--workspace"},
		{NULL, "/", "--workspace"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct iso_policy policy = test_policy();
		char *names[] = {rows[i].passed, NULL};
		const struct iso_strv passed = {names, rows[i].passed != NULL};
		const struct iso_request granted = fresh();
		struct iso_request request = fresh();
		struct iso_narrowed narrowed = {.mounts = NULL};
		struct iso_error err = {0};
		request.workspace = rows[i].workspace;
		const struct iso_asked asked = {&request, rows[i].workspace, &passed};
		int status = iso_narrow(&policy, &granted, &asked, MACHINE, &narrowed, &err);
		assert_int_equal(status, rows[i].refused == NULL ? 0 : -1);
		if (rows[i].refused != NULL)
			assert_non_null(strstr(err.message, rows[i].refused));
		iso_narrowed_done(&narrowed);
	}
}

/* A workspace below the root takes the protections that lie in it along. */
static void test_protections_hold_in_a_narrower_workspace(void **state)
{
	(void)state;
	static const struct iso_mount protections[] = {
		{.kind = ISO_MOUNT_PROTECT, .target = "/src/a"},
		{.kind = ISO_MOUNT_PROTECT, .target = "/src/a/b"},
		{.kind = ISO_MOUNT_PROTECT, .target = "/src/ab"},
	};
	static const struct {
		const char *workspace;
		size_t count; /* of protections left */
		bool read_only;
	} rows[] = {
		{NULL, 3, false},	{"/src", 3, false},	{"/src/c", 0, false},
		{"/src/a", 1, true},	{"/src/a/b", 0, true},	{"/src/a/b/c", 0, true},
		{"/src/ab/c", 0, true}, {"/src/abc", 0, false},
	};
	const struct iso_policy policy = test_policy();
	const struct iso_strv nothing = {NULL, 0};
	struct iso_request granted = fresh();
	granted.mounts = protections;
	granted.mount_count = ARRAY_SIZE(protections);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_request request = fresh();
		struct iso_narrowed narrowed = {.mounts = NULL};
		struct iso_error err = {0};
		request.workspace = rows[i].workspace;
		request.workspace_fd = 77;
		const struct iso_asked asked = {&request, rows[i].workspace, &nothing};
		assert_int_equal(iso_narrow(&policy, &granted, &asked, MACHINE, &narrowed, &err),
				 0);
		assert_int_equal(narrowed.request.mount_count, rows[i].count);
		assert_int_equal(narrowed.request.workspace_read_only, rows[i].read_only);
		assert_int_equal(narrowed.request.workspace_fd,
				 rows[i].workspace != NULL ? 77 : -1);
		iso_narrowed_done(&narrowed);
	}
}

static void test_lists_are_the_policys_first(void **state)
{
	(void)state;
	static const char *const granted_env[] = {"A=policy", "B=policy", NULL};
	static const char *const asked_env[] = {"B=asked", "C=asked", NULL};
	static const struct iso_mount hidden = {.kind = ISO_MOUNT_HIDE, .target = "/src/x"};
	const struct iso_policy policy = test_policy();
	struct iso_request granted = fresh(), asked = fresh();
	struct iso_narrowed narrowed;
	struct iso_error err = {0};
	granted.env = granted_env;
	granted.mounts = &bind_ro;
	granted.mount_count = 1;
	granted.workspace_read_only = true;
	asked.env = asked_env;
	asked.mounts = &hidden;
	asked.mount_count = 1;
	assert_int_equal(narrow(&policy, &granted, &asked, &narrowed, &err), 0);
	assert_int_equal(narrowed.request.mount_count, 2);
	assert_int_equal(narrowed.request.mounts[0].kind, ISO_MOUNT_RO);
	assert_int_equal(narrowed.request.mounts[1].kind, ISO_MOUNT_HIDE);
	assert_string_equal(narrowed.request.env[0], "A=policy");
	assert_string_equal(narrowed.request.env[1], "B=asked");
	assert_string_equal(narrowed.request.env[2], "C=asked");
	assert_null(narrowed.request.env[3]);
	assert_true(narrowed.request.workspace_read_only); /* "rw" does not undo it */
	iso_narrowed_done(&narrowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_take_the_smaller_value),
		cmocka_unit_test(test_time_and_output_are_the_policys_at_most),
		cmocka_unit_test(test_what_widens_is_refused_by_name),
		cmocka_unit_test(test_a_capability_needs_the_permission_and_the_policys_word),
		cmocka_unit_test(test_variables_and_places_must_be_the_policys),
		cmocka_unit_test(test_protections_hold_in_a_narrower_workspace),
		cmocka_unit_test(test_lists_are_the_policys_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
