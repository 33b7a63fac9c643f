/*
 * libseccomp compiles. It exports to a descriptor only, so the instructions take the way through a
 * memfd. What cannot be enforced exactly as it is written is refused: unknown calls (misspelt, or
 * newer than the libseccomp in use), actions that need a supervisor, extensions of container
 * engines.
 */
#include "sandbox/filter/seccomp_custom.h"

#include <errno.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json_read.h"

#define ARGUMENT_COUNT 6
#define LARGEST_ERRNO  4095

static int read_action(const struct iso_json_at *at, const struct iso_json_at *errno_at,
		       uint32_t *ret_action, struct iso_error *err)
{
	static const struct {
		const char *name;
		uint32_t action;
	} actions[] = {
		{"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
		{"SCMP_ACT_LOG", SCMP_ACT_LOG},
		{"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
		{"SCMP_ACT_KILL", SCMP_ACT_KILL_THREAD},
		{"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
		{"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
	};
	const char *name;
	if (iso_json_text(at, &name, err) < 0)
		return -1;
	if (strcmp(name, "SCMP_ACT_ERRNO") == 0) {
		uint64_t number = EPERM;
		if (errno_at->value != NULL &&
		    iso_json_whole(errno_at, 1, LARGEST_ERRNO, &number, err) < 0)
			return -1;
		*ret_action = SCMP_ACT_ERRNO((uint32_t)number);
		return 0;
	}
	if (errno_at->value != NULL)
		return iso_json_refuse(errno_at, err, "only SCMP_ACT_ERRNO takes an errno");
	for (size_t i = 0; i < ISO_COUNT(actions); i++) {
		if (strcmp(actions[i].name, name) == 0) {
			*ret_action = actions[i].action;
			return 0;
		}
	}
	return iso_json_refuse(at, err,
			       "SCMP_ACT_ALLOW, _ERRNO, _LOG, _TRAP, _KILL, _KILL_THREAD or "
			       "_KILL_PROCESS is needed");
}

static int read_comparison(const struct iso_json_at *at, struct scmp_arg_cmp *ret_comparison,
			   struct iso_error *err)
{
	static const char *const known[] = {"index", "value", "valueTwo", "op", NULL};
	static const struct {
		const char *name;
		enum scmp_compare op;
	} operators[] = {
		{"SCMP_CMP_NE", SCMP_CMP_NE},
		{"SCMP_CMP_LT", SCMP_CMP_LT},
		{"SCMP_CMP_LE", SCMP_CMP_LE},
		{"SCMP_CMP_EQ", SCMP_CMP_EQ},
		{"SCMP_CMP_GE", SCMP_CMP_GE},
		{"SCMP_CMP_GT", SCMP_CMP_GT},
		{"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
	};
	if (iso_json_object(at, known, err) < 0)
		return -1;
	struct iso_json_at index_at = iso_json_member(at, "index");
	struct iso_json_at value_at = iso_json_member(at, "value");
	struct iso_json_at second_at = iso_json_member(at, "valueTwo");
	struct iso_json_at op_at = iso_json_member(at, "op");
	uint64_t index, value, second = 0;
	const char *name;
	if (iso_json_whole(&index_at, 0, ARGUMENT_COUNT - 1, &index, err) < 0 ||
	    iso_json_whole(&value_at, 0, UINT64_MAX, &value, err) < 0 ||
	    (second_at.value != NULL &&
	     iso_json_whole(&second_at, 0, UINT64_MAX, &second, err) < 0) ||
	    iso_json_text(&op_at, &name, err) < 0)
		return -1;
	for (size_t i = 0; i < ISO_COUNT(operators); i++) {
		if (strcmp(operators[i].name, name) == 0) {
			*ret_comparison = (struct scmp_arg_cmp){(unsigned int)index,
								operators[i].op, value, second};
			return 0;
		}
	}
	return iso_json_refuse(&op_at, err,
			       "SCMP_CMP_NE, _LT, _LE, _EQ, _GE, _GT or _MASKED_EQ "
			       "is needed");
}

static int read_comparisons(const struct iso_json_at *at,
			    struct scmp_arg_cmp ret_comparisons[ARGUMENT_COUNT], size_t *ret_count,
			    struct iso_error *err)
{
	size_t count = 0;
	if (at->value != NULL && iso_json_array(at, &count, err) < 0)
		return -1;
	if (count > ARGUMENT_COUNT)
		return iso_json_refuse(at, err, "a call has six arguments");
	for (size_t i = 0; i < count; i++) {
		struct iso_json_at item = iso_json_item(at, i);
		if (read_comparison(&item, &ret_comparisons[i], err) < 0)
			return -1;
	}
	*ret_count = count;
	return 0;
}

/* One entry of `syscalls`: an action for some calls, perhaps only with certain arguments. */
static int add_rule(scmp_filter_ctx filter, uint32_t default_action, const struct iso_json_at *at,
		    struct iso_error *err)
{
	static const char *const known[] = {"names", "action", "errnoRet", "args", NULL};
	if (iso_json_object(at, known, err) < 0)
		return -1;
	struct iso_json_at names = iso_json_member(at, "names");
	struct iso_json_at action_at = iso_json_member(at, "action");
	struct iso_json_at errno_at = iso_json_member(at, "errnoRet");
	struct iso_json_at args = iso_json_member(at, "args");
	struct scmp_arg_cmp comparisons[ARGUMENT_COUNT];
	size_t name_count, comparison_count = 0;
	uint32_t action;
	if (read_action(&action_at, &errno_at, &action, err) < 0 ||
	    read_comparisons(&args, comparisons, &comparison_count, err) < 0 ||
	    iso_json_array(&names, &name_count, err) < 0)
		return -1;
	if (name_count == 0)
		return iso_json_refuse(&names, err, "it is empty");
	for (size_t i = 0; i < name_count; i++) {
		struct iso_json_at name_at = iso_json_item(&names, i);
		const char *name;
		if (iso_json_text(&name_at, &name, err) < 0)
			return -1;
		int number = seccomp_syscall_resolve_name(name);
		if (number == __NR_SCMP_ERROR)
			return iso_json_refuse(&name_at, err, "no system call \"%s\" is known",
					       name);
		if (number < 0 || action == default_action)
			continue; /* a call of other architectures; or what holds anyway */
		char text[ISO_ERRNO_TEXT_SIZE];
		int result = seccomp_rule_add_array(filter, action, number,
						    (unsigned int)comparison_count, comparisons);
		if (result < 0)
			return iso_json_refuse(at, err, "libseccomp refuses the rule for %s: %s",
					       name, iso_errno_text(-result, text));
	}
	return 0;
}

static int check_architectures(const struct iso_json_at *at, struct iso_error *err)
{
	size_t count;
	if (at->value == NULL)
		return 0;
	if (iso_json_array(at, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct iso_json_at item = iso_json_item(at, i);
		const char *name;
		if (iso_json_text(&item, &name, err) < 0)
			return -1;
		if (strcmp(name, "SCMP_ARCH_X86_64") == 0)
			return 0;
	}
	return iso_json_refuse(at, err, "SCMP_ARCH_X86_64 is not among them");
}

static int export(scmp_filter_ctx filter, struct iso_seccomp_custom *ret_filter,
		  struct iso_error *err)
{
	ISO_AUTO_CLOSE int fd = iso_fd_above_stdio(memfd_create("isorun-seccomp", MFD_CLOEXEC));
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create a memfd");
	int result = seccomp_export_bpf(filter, fd);
	off_t size = result == 0 ? lseek(fd, 0, SEEK_END) : -1;
	if (size <= 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, result < 0 ? -result : errno,
				     "compile the seccomp profile");
	size_t count = (size_t)size / sizeof(struct sock_filter);
	if (count > ISO_SECCOMP_CUSTOM_MAX)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "compile the seccomp profile: %zu instructions; a filter has "
				     "at most %d",
				     count, ISO_SECCOMP_CUSTOM_MAX);
	struct sock_filter *instructions = malloc((size_t)size);
	if (instructions == NULL)
		return iso_error_nomem(err);
	if (pread(fd, instructions, (size_t)size, 0) != (ssize_t)size) {
		free(instructions);
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the compiled filter");
	}
	ret_filter->instructions = instructions;
	ret_filter->count = count;
	return 0;
}

static int compile_into(scmp_filter_ctx filter, uint32_t default_action,
			const struct iso_json_at *rules, struct iso_seccomp_custom *ret_filter,
			struct iso_error *err)
{
	size_t count = 0;
	if (rules->value != NULL && iso_json_array(rules, &count, err) < 0)
		return -1;
	/* The tree form loads and runs faster than a line of comparisons. */
	int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (result < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, -result, "have libseccomp optimise");
	for (size_t i = 0; i < count; i++) {
		struct iso_json_at rule = iso_json_item(rules, i);
		if (add_rule(filter, default_action, &rule, err) < 0)
			return -1;
	}
	return export(filter, ret_filter, err);
}

static int compile_profile(const struct iso_json_at *profile, struct iso_seccomp_custom *ret_filter,
			   struct iso_error *err)
{
	static const char *const known[] = {"defaultAction", "defaultErrnoRet", "architectures",
					    "syscalls", NULL};
	if (iso_json_object(profile, known, err) < 0)
		return -1;
	struct iso_json_at action_at = iso_json_member(profile, "defaultAction");
	struct iso_json_at errno_at = iso_json_member(profile, "defaultErrnoRet");
	struct iso_json_at architectures = iso_json_member(profile, "architectures");
	struct iso_json_at rules = iso_json_member(profile, "syscalls");
	uint32_t default_action;
	if (read_action(&action_at, &errno_at, &default_action, err) < 0 ||
	    check_architectures(&architectures, err) < 0)
		return -1;
	scmp_filter_ctx filter = seccomp_init(default_action);
	if (filter == NULL)
		return iso_error_nomem(err);
	int status = compile_into(filter, default_action, &rules, ret_filter, err);
	seccomp_release(filter);
	return status;
}

int iso_seccomp_custom_compile(const char *what, const char *text, size_t size,
			       struct iso_seccomp_custom *ret_filter, struct iso_error *err)
{
	struct iso_seccomp_custom filter = {0};
	cJSON *root;
	if (iso_json_parse(what, text, size, &root, err) < 0)
		return -1;
	struct iso_json_at profile = iso_json_root(what, root);
	int status = compile_profile(&profile, &filter, err);
	cJSON_Delete(root);
	if (status < 0)
		return -1;
	iso_sha256_hex(text, size, filter.profile_sha256);
	*ret_filter = filter;
	return 0;
}

void iso_seccomp_cache_init(struct iso_seccomp_cache *ret_cache)
{
	*ret_cache = (struct iso_seccomp_cache){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void iso_seccomp_cache_done(struct iso_seccomp_cache *cache)
{
	iso_seccomp_custom_done(&cache->last);
	pthread_mutex_destroy(&cache->lock);
}

static int copy(const struct iso_seccomp_custom *filter, struct iso_seccomp_custom *ret_copy,
		struct iso_error *err)
{
	size_t size = filter->count * sizeof(*filter->instructions);
	struct sock_filter *instructions = malloc(size);
	if (instructions == NULL)
		return iso_error_nomem(err);
	memcpy(instructions, filter->instructions, size);
	*ret_copy = *filter;
	ret_copy->instructions = instructions;
	return 0;
}

int iso_seccomp_cache_get(struct iso_seccomp_cache *cache, const char *what, const char *text,
			  size_t size, struct iso_seccomp_custom *ret_filter, struct iso_error *err)
{
	char digest[ISO_SHA256_HEX_SIZE];
	struct iso_seccomp_custom filter;
	int status = 0;
	iso_sha256_hex(text, size, digest);
	pthread_mutex_lock(&cache->lock);
	if (strcmp(cache->last.profile_sha256, digest) != 0) {
		status = iso_seccomp_custom_compile(what, text, size, &filter, err);
		if (status == 0) {
			iso_seccomp_custom_done(&cache->last);
			cache->last = filter;
		}
	}
	if (status == 0)
		status = copy(&cache->last, ret_filter, err);
	pthread_mutex_unlock(&cache->lock);
	return status;
}

void iso_seccomp_custom_done(struct iso_seccomp_custom *filter)
{
	free(filter->instructions);
	*filter = (struct iso_seccomp_custom){0};
}
