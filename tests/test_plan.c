/* runner/plan_build and sandbox/plan: what a request becomes, and which requests are refused. */
#include "tests/plans.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "runner/base/digest.h"

static const struct iso_fsop *find(const struct iso_plan *plan, enum iso_fsop_kind kind,
				   const char *target)
{
	for (size_t i = 0; i < plan->world.fsop_count; i++) {
		if (plan->world.fsops[i].kind == kind &&
		    strcmp(plan->world.fsops[i].target, target) == 0)
			return &plan->world.fsops[i];
	}
	return NULL;
}

static void test_defaults(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	assert_int_equal(build(&request, &plan, &err), 0);
	assert_true(plan.world.limits.memory_max_bytes == 2 * GIB);
	assert_true(plan.world.limits.pids_max_count == 1024);
	assert_true(plan.command.limits.wall_ms == ISO_UNLIMITED);
	assert_true(plan.command.limits.grace_ms == 2000);
	assert_true(plan.command.limits.nofile_soft_count == 1024);
	assert_true(plan.command.limits.nofile_hard_count == 20000);
	assert_int_equal(plan.world.identity.kind, ISO_IDENTITY_CALLER);
	assert_int_equal(plan.world.identity.inner_uid, 4321);
	assert_int_equal(plan.world.identity.host_uid, 4321);
	assert_string_equal(plan.command.workdir, workspace);
	assert_string_equal(plan.world.hostname, "isorun");
	assert_int_equal(plan.command.env.count, 5);
	const struct iso_fsop *op = find(&plan, ISO_FSOP_BIND, workspace);
	assert_non_null(op);
	assert_true(op->writable);
	assert_true(op->source_ino != 0);
	op = find(&plan, ISO_FSOP_BIND, "/usr");
	assert_non_null(op);
	assert_false(op->writable);
	/* What closes the root comes last. */
	assert_int_equal(plan.world.fsops[plan.world.fsop_count - 1].kind, ISO_FSOP_READONLY);
	assert_string_equal(plan.world.fsops[plan.world.fsop_count - 1].target, "/");
	iso_plan_done(&plan);
}

/* The directory that was opened counts, whatever its name leads to by now. */
static void test_an_open_workspace(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	request.workspace = "/usr";
	request.workspace_fd = open(workspace, O_PATH | O_CLOEXEC);
	assert_int_equal(build(&request, &plan, &err), 0);
	assert_string_equal(plan.world.workspace, workspace);
	iso_plan_done(&plan);
	close(request.workspace_fd);
	assert_int_equal(build(&request, &plan, &err), -1);
	assert_int_equal(err.code, ISO_ERR_INVALID);
	assert_int_equal(err.os_errno, EBADF);
	request.workspace_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(build(&request, &plan, &err), -1);
	assert_int_equal(err.os_errno, ENOTDIR);
	close(request.workspace_fd);
}

static void test_small_machine_gets_half_of_its_memory(void **state)
{
	(void)state;
	struct iso_host small = ordinary;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	small.memory_bytes = GIB;
	assert_int_equal(build_on(&small, &request, &plan, &err), 0);
	assert_true(plan.world.limits.memory_max_bytes == GIB / 2);
	iso_plan_done(&plan);
}

/* One field at a time is made wrong. */
static void make_argv_blank(struct iso_request *request)
{
	static const char *const argv[] = {" \t", NULL};
	request->argv = argv;
}
static void make_argv_none(struct iso_request *request)
{
	request->argv = argv_true + 1;
}
static void make_workspace_missing(struct iso_request *request)
{
	request->workspace = "/nonexistent";
}
static void make_workspace_reserved(struct iso_request *request)
{
	request->workspace = "/usr";
}
static void make_workspace_empty(struct iso_request *request)
{
	request->workspace = "";
}
static void make_workdir_outside(struct iso_request *request)
{
	request->workdir = "/usr";
}
static void make_memory_tiny(struct iso_request *request)
{
	request->memory_max_bytes = 1000;
}
static void make_memory_zero(struct iso_request *request)
{
	request->memory_max_bytes = 0;
}
static void make_memory_unlimited(struct iso_request *request)
{
	request->memory_max_bytes = ISO_UNLIMITED;
}
static void make_pids_zero(struct iso_request *request)
{
	request->pids_max_count = 0;
}
static void make_pids_unlimited(struct iso_request *request)
{
	request->pids_max_count = ISO_UNLIMITED;
}
static void make_wall_zero(struct iso_request *request)
{
	request->wall_limit_ms = 0;
}
static void make_cpu_zero(struct iso_request *request)
{
	request->cpu_max_millis = 0;
}
static void make_uid_invalid(struct iso_request *request)
{
	request->uid = UINT32_MAX;
}
static void make_nofile_above_own(struct iso_request *request)
{
	request->nofile_max_count = 20001;
}
static void make_env_wrong(struct iso_request *request)
{
	static const char *const env[] = {"=x", NULL};
	request->env = env;
}
static void make_hostname_long(struct iso_request *request)
{
	request->hostname = "0123456789012345678901234567890123456789012345678901234567890123x";
}
static void make_mount_kindless(struct iso_request *request)
{
	static const struct iso_mount mount = {.target = "/x"};
	request->mounts = &mount;
	request->mount_count = 1;
}
static void make_mount_on_root(struct iso_request *request)
{
	static const struct iso_mount mount = {
		.kind = ISO_MOUNT_RO, .source = "/usr", .target = "/"};
	request->mounts = &mount;
	request->mount_count = 1;
}
static void make_tmpfs_on_workspace(struct iso_request *request)
{
	static struct iso_mount mount = {.kind = ISO_MOUNT_TMPFS};
	mount.target = workspace;
	request->mounts = &mount;
	request->mount_count = 1;
}

static void test_wrong_requests_are_refused(void **state)
{
	(void)state;
	static const struct {
		void (*spoil)(struct iso_request *request);
		const char *part;
	} rows[] = {
		{make_argv_blank, "it is blank"},
		{make_argv_none, "none is given"},
		{make_workspace_missing, "No such file"},
		{make_workspace_reserved, "place of its own"},
		{make_workspace_empty, "its name is empty"},
		{make_workdir_outside, "outside the workspace"},
		{make_memory_tiny, "limit memory to 1000"},
		{make_memory_zero, "limit memory to 0"},
		{make_memory_unlimited, "limit memory"},
		{make_pids_zero, "limit processes to 0"},
		{make_pids_unlimited, "limit processes"},
		{make_wall_zero, "limit wall time"},
		{make_cpu_zero, "limit CPUs"},
		{make_uid_invalid, "user id"},
		{make_nofile_above_own, "limit open files"},
		{make_env_wrong, "NAME=VALUE"},
		{make_hostname_long, "host name"},
		{make_mount_kindless, "no kind"},
		{make_mount_on_root, "needs that place"},
		{make_tmpfs_on_workspace, "cover the workspace"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_request request = base_request();
		struct iso_plan plan = {.world = {.hostname = (char *)"untouched"}};
		struct iso_error err = {0};
		rows[i].spoil(&request);
		if (build(&request, &plan, &err) == 0)
			fail_msg("row %zu was accepted", i);
		assert_int_equal(err.code, ISO_ERR_INVALID);
		if (strstr(err.message, rows[i].part) == NULL)
			fail_msg("row %zu: \"%s\"", i, err.message);
		assert_string_equal(plan.world.hostname, "untouched");
	}
}

static void test_no_directory_is_planned_below_a_bind(void **state)
{
	(void)state;
	char target[PATH_MAX];
	snprintf(target, sizeof(target), "%s/deep/er", workspace);
	struct iso_mount mount = {.kind = ISO_MOUNT_RO, .source = "/usr/bin", .target = target};
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	request.mounts = &mount;
	request.mount_count = 1;
	assert_int_equal(build(&request, &plan, &err), 0);
	for (size_t i = 0; i < plan.world.fsop_count; i++) {
		if (plan.world.fsops[i].kind == ISO_FSOP_DIR ||
		    plan.world.fsops[i].kind == ISO_FSOP_FILE)
			assert_true(strstr(plan.world.fsops[i].target, "deep") == NULL);
	}
	iso_plan_done(&plan);
}

static void test_no_target_is_planned_twice_or_before_its_way(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	assert_int_equal(build(&request, &plan, &err), 0);
	for (size_t i = 0; i < plan.world.fsop_count; i++) {
		const struct iso_fsop *op = &plan.world.fsops[i];
		assert_true(op->target[0] == '/');
		for (size_t j = 0; j < i; j++) {
			if (op->kind == ISO_FSOP_DIR && plan.world.fsops[j].kind == ISO_FSOP_DIR)
				assert_string_not_equal(op->target, plan.world.fsops[j].target);
		}
	}
	iso_plan_done(&plan);
}

static void test_printing_is_deterministic_and_complete(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	char *first = NULL, *second = NULL;
	assert_int_equal(build(&request, &plan, &err), 0);
	assert_int_equal(iso_plan_print(&plan, &first, &err), 0);
	assert_int_equal(iso_plan_print(&plan, &second, &err), 0);
	assert_string_equal(first, second);
	cJSON *json = cJSON_Parse(first);
	assert_non_null(json);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "schema")),
			    "isorun.plan/2");
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "world"),
								"filesystem")),
			 plan.world.fsop_count);
	cJSON_Delete(json);
	free(first);
	free(second);
	iso_plan_done(&plan);
}

static void test_every_operation_has_a_name(void **state)
{
	(void)state;
	for (int kind = ISO_FSOP_UNSET; kind <= ISO_FSOP_READONLY; kind++)
		assert_non_null(iso_fsop_name((enum iso_fsop_kind)kind));
	for (int kind = ISO_IDENTITY_UNSET; kind <= ISO_IDENTITY_CALLER; kind++)
		assert_non_null(iso_identity_name((enum iso_identity_kind)kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_an_open_workspace),
		cmocka_unit_test(test_small_machine_gets_half_of_its_memory),
		cmocka_unit_test(test_wrong_requests_are_refused),
		cmocka_unit_test(test_no_directory_is_planned_below_a_bind),
		cmocka_unit_test(test_no_target_is_planned_twice_or_before_its_way),
		cmocka_unit_test(test_printing_is_deterministic_and_complete),
		cmocka_unit_test(test_every_operation_has_a_name),
	};
	return cmocka_run_group_tests(tests, make_workspace, remove_workspace);
}
