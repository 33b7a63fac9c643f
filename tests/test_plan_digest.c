/* sandbox/plan: each member that says what is executed is in the digest of its half. */
#include "tests/plans.h"

#include <cjson/cJSON.h>

/* Every member that says what is executed, flipped one at a time, changes the plan's text, and the
 * digest of the half that it is in. */
#define FLIP(half, member)                                                              \
	{                                                                               \
#half "." #member, offsetof(struct iso_plan, half.member),              \
			sizeof(((struct iso_plan *)NULL)->half.member), #half "_sha256" \
	}

static const struct {
	const char *name;
	size_t offset, size;
	const char *digest;
} members[] = {
	FLIP(world, workspace_read_only),
	FLIP(world, identity.kind),
	FLIP(world, identity.inner_uid),
	FLIP(world, identity.inner_gid),
	FLIP(world, identity.host_uid),
	FLIP(world, identity.host_gid),
	FLIP(world, limits.memory_max_bytes),
	FLIP(world, limits.pids_max_count),
	FLIP(world, limits.cpu_max_millis),
	FLIP(world, cgroup_optional),
	FLIP(world, capabilities),
	FLIP(world, landlock_abi),
	FLIP(command, limits.wall_ms),
	FLIP(command, limits.grace_ms),
	FLIP(command, limits.nofile_soft_count),
	FLIP(command, limits.nofile_hard_count),
	FLIP(command, limits.fsize_max_bytes),
	FLIP(command, detached),
	FLIP(command, tty),
	FLIP(command, streams.merge),
	FLIP(command, streams.keep),
	FLIP(command, streams.count_characters),
	FLIP(command, streams.limits_each[0]),
	FLIP(command, streams.limits_each[1]),
};

/* Strings and lists, by a letter of theirs; the members of an operation. */
#define OP(member) offsetof(struct iso_fsop, member), sizeof(((struct iso_fsop *)NULL)->member)
static const struct {
	const char *name;
	size_t offset, size;
} op_members[] = {
	{"mode", OP(mode)},
	{"size_bytes", OP(size_bytes)},
	{"writable", OP(writable)},
	{"device_files", OP(device_files)},
	{"executable", OP(executable)},
	{"optional", OP(optional)},
	{"payload_owned", OP(payload_owned)},
	{"owner_mapped", OP(owner_mapped)},
};

static char *print(const struct iso_plan *plan)
{
	struct iso_error err = {0};
	char *text = NULL;
	assert_int_equal(iso_plan_print(plan, &text, &err), 0);
	return text;
}

/* Whether the plan says something else now, and only in the half that is meant. */
static void check_flipped(const struct iso_plan *plan, const char *before, const char *name,
			  const char *digest)
{
	static const char *const digests[] = {"world_sha256", "command_sha256"};
	char *after = print(plan);
	cJSON *one = cJSON_Parse(before), *two = cJSON_Parse(after);
	if (strcmp(before, after) == 0)
		fail_msg("%s: flipping it changes nothing", name);
	for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
		bool same = strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(one, digests[i])),
				   cJSON_GetStringValue(cJSON_GetObjectItem(two, digests[i]))) == 0;
		if (same != (strcmp(digests[i], digest) != 0))
			fail_msg("%s: %s is %s", name, digests[i], same ? "the same" : "another");
	}
	cJSON_Delete(one);
	cJSON_Delete(two);
	free(after);
}

static void flip_letter(const struct iso_plan *plan, const char *before, char *text,
			const char *name, const char *digest)
{
	text[0] ^= 1;
	check_flipped(plan, before, name, digest);
	text[0] ^= 1;
}

static void test_every_member_is_in_the_digest(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	request.tty = true;
	assert_int_equal(build(&request, &plan, &err), 0);
	char *before = print(&plan);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		/* Of a limit the second byte: with the first one, "none" would become "default". */
		char *byte = (char *)&plan + members[i].offset + (members[i].size == 8);
		*byte ^= 1;
		check_flipped(&plan, before, members[i].name, members[i].digest);
		*byte ^= 1;
	}
	plan.command.tty_rows++;
	check_flipped(&plan, before, "tty_rows", "command_sha256");
	plan.command.tty_rows--;
	plan.command.tty_columns++;
	check_flipped(&plan, before, "tty_columns", "command_sha256");
	plan.command.tty_columns--;
	flip_letter(&plan, before, plan.command.argv.items[0], "argv", "command_sha256");
	flip_letter(&plan, before, plan.command.env.items[1], "env", "command_sha256");
	flip_letter(&plan, before, plan.command.workdir + 1, "workdir", "command_sha256");
	flip_letter(&plan, before, plan.world.workspace + 1, "workspace", "world_sha256");
	flip_letter(&plan, before, plan.world.hostname, "hostname", "world_sha256");
	free(before);
	iso_plan_done(&plan);
}

static void test_every_member_of_an_operation_is_in_the_digest(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	assert_int_equal(build(&request, &plan, &err), 0);
	char *before = print(&plan);
	for (size_t i = 0; i < plan.world.fsop_count; i++) {
		struct iso_fsop *op = &plan.world.fsops[i];
		for (size_t j = 0; j < ARRAY_SIZE(op_members); j++) {
			char *bytes = (char *)op + op_members[j].offset;
			bytes[0] ^= 1;
			check_flipped(&plan, before, op_members[j].name, "world_sha256");
			bytes[0] ^= 1;
		}
		flip_letter(&plan, before, op->target, "target", "world_sha256");
		if (op->source != NULL)
			flip_letter(&plan, before, op->source, "source", "world_sha256");
		enum iso_fsop_kind kind = op->kind;
		op->kind = kind == ISO_FSOP_DIR ? ISO_FSOP_PROC : ISO_FSOP_DIR;
		check_flipped(&plan, before, "kind", "world_sha256");
		op->kind = kind;
	}
	free(before);
	iso_plan_done(&plan);
}

static void test_a_custom_filter_is_in_the_digest_by_its_profile(void **state)
{
	(void)state;
	struct iso_request request = base_request();
	struct iso_plan plan;
	struct iso_error err = {0};
	assert_int_equal(build(&request, &plan, &err), 0);
	char *before = print(&plan);
	plan.world.seccomp.count = 1; /* printing looks at no instruction */
	strcpy(plan.world.seccomp.profile_sha256, "12");
	check_flipped(&plan, before, "seccomp", "world_sha256");
	char *with = print(&plan);
	plan.world.seccomp.profile_sha256[0] = '9';
	check_flipped(&plan, with, "profile_sha256", "world_sha256");
	plan.world.seccomp.count = 0;
	free(with);
	free(before);
	iso_plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_member_is_in_the_digest),
		cmocka_unit_test(test_every_member_of_an_operation_is_in_the_digest),
		cmocka_unit_test(test_a_custom_filter_is_in_the_digest_by_its_profile),
	};
	return cmocka_run_group_tests(tests, make_workspace, remove_workspace);
}
