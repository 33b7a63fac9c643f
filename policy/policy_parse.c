/*
 * One reader per member, in a table that is also the list of what is known. Nothing has a meaning
 * that is not written here: what is unknown, twice, of another type or out of range is refused.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress.h"
#include "policy/policy.h"
#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/base/text/json_read.h"
#include "runner/base/text/parse.h"

#define LARGEST_BYTES	   ((uint64_t)INT64_MAX)
#define LARGEST_PIDS	   4000000
#define LARGEST_NOFILE	   1048576
#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_BASH_MS	   120000
#define DEFAULT_OUTPUT	   16000
#define DEFAULT_FILE_BYTES 1000000
#define LARGEST_OUTPUT	   (UINT64_C(64) << 20)
#define LARGEST_FILE_BYTES (UINT64_C(1) << 30)

typedef int reader(const struct iso_json_at *at, struct iso_policy *policy, struct iso_error *err);

static int keep(const char *text, char **ret_copy, struct iso_error *err)
{
	char *copy = strdup(text);
	if (copy == NULL)
		return iso_error_nomem(err);
	free(*ret_copy);
	*ret_copy = copy;
	return 0;
}

static int read_nonempty(const struct iso_json_at *at, const char **ret_text, struct iso_error *err)
{
	if (iso_json_text(at, ret_text, err) < 0)
		return -1;
	return **ret_text == '\0' ? iso_json_refuse(at, err, "it must not be empty") : 0;
}

static int read_absolute(const struct iso_json_at *at, const char **ret_path, struct iso_error *err)
{
	if (read_nonempty(at, ret_path, err) < 0)
		return -1;
	return **ret_path != '/' ? iso_json_refuse(at, err, "an absolute path is needed") : 0;
}

/* A path in the workspace: relative, without "..". */
static int read_relative(const struct iso_json_at *at, const char **ret_path, struct iso_error *err)
{
	if (read_nonempty(at, ret_path, err) < 0)
		return -1;
	const char *path = *ret_path;
	for (const char *part = path; *part != '\0'; part += strspn(part, "/")) {
		size_t length = strcspn(part, "/");
		if (length == 2 && strncmp(part, "..", 2) == 0)
			return iso_json_refuse(at, err, "a path below the root is needed");
		part += length;
	}
	return *path == '/' ? iso_json_refuse(at, err, "a path below the root is needed") : 0;
}

/* A size: a number of bytes, or a string such as "64M". */
static int read_size(const struct iso_json_at *at, uint64_t *ret_bytes, struct iso_error *err)
{
	if (cJSON_IsRaw(at->value))
		return iso_json_whole(at, 1, LARGEST_BYTES, ret_bytes, err);
	if (!cJSON_IsString(at->value) || iso_parse_size(at->value->valuestring, ret_bytes) < 0)
		return iso_json_refuse(at, err,
				       "a positive whole number of bytes, or a string such as "
				       "\"64M\" is needed");
	return 0;
}

/* An array of strings, each read by `read_one`, into `list`. */
static int read_list(const struct iso_json_at *at, struct iso_strv *list,
		     int (*read_one)(const struct iso_json_at *at, const char **ret_text,
				     struct iso_error *err),
		     struct iso_error *err)
{
	size_t count;
	if (iso_json_array(at, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct iso_json_at item = iso_json_item(at, i);
		const char *text;
		if (read_one(&item, &text, err) < 0)
			return -1;
		if (iso_strv_add(list, text) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static int read_root(const struct iso_json_at *at, struct iso_policy *policy, struct iso_error *err)
{
	const char *path;
	if (read_absolute(at, &path, err) < 0)
		return -1;
	return keep(path, &policy->root, err);
}

static int read_permissions(const struct iso_json_at *at, struct iso_policy *policy,
			    struct iso_error *err)
{
	size_t count;
	if (iso_json_array(at, &count, err) < 0)
		return -1;
	policy->permissions = 0;
	for (size_t i = 0; i < count; i++) {
		struct iso_json_at item = iso_json_item(at, i);
		const char *name;
		unsigned int number = 0;
		if (iso_json_text(&item, &name, err) < 0)
			return -1;
		while (number < ISO_PERMISSION_COUNT &&
		       strcmp(iso_permission_name(number), name) != 0)
			number++;
		if (number == ISO_PERMISSION_COUNT)
			return iso_json_refuse(&item, err,
					       "READ, WRITE, EXECUTE, NETWORK, PRIVILEGED or "
					       "IRREVERSIBLE is needed");
		policy->permissions |= UINT32_C(1) << number;
	}
	return 0;
}

static int read_command(const struct iso_json_at *at, struct iso_policy_command *command,
			struct iso_error *err)
{
	if (at->name[0] == '\0')
		return iso_json_refuse(at, err, "a command needs a name");
	if (keep(at->name, &command->name, err) < 0 ||
	    read_list(at, &command->argv, read_nonempty, err) < 0)
		return -1;
	if (command->argv.count == 0)
		return iso_json_refuse(at, err, "a non-empty array of strings is needed");
	return 0;
}

static int read_commands(const struct iso_json_at *at, struct iso_policy *policy,
			 struct iso_error *err)
{
	if (iso_json_object(at, NULL, err) < 0)
		return -1;
	size_t count = (size_t)cJSON_GetArraySize(at->value);
	policy->commands = calloc(count + 1, sizeof(*policy->commands));
	if (policy->commands == NULL)
		return iso_error_nomem(err);
	const cJSON *item;
	cJSON_ArrayForEach(item, at->value)
	{
		struct iso_json_at member = iso_json_member(at, item->string);
		if (read_command(&member, &policy->commands[policy->command_count++], err) < 0)
			return -1;
	}
	return 0;
}

static int read_timeout(const struct iso_json_at *at, struct iso_policy *policy,
			struct iso_error *err)
{
	return iso_json_seconds(at, &policy->timeout_ms, err);
}

static int read_bash_timeout(const struct iso_json_at *at, struct iso_policy *policy,
			     struct iso_error *err)
{
	return iso_json_seconds(at, &policy->bash_timeout_ms, err);
}

static int read_output_limit(const struct iso_json_at *at, struct iso_policy *policy,
			     struct iso_error *err)
{
	return iso_json_whole(at, 1, LARGEST_OUTPUT, &policy->output_limit_bytes, err);
}

static int read_max_file_bytes(const struct iso_json_at *at, struct iso_policy *policy,
			       struct iso_error *err)
{
	return iso_json_whole(at, 1, LARGEST_FILE_BYTES, &policy->max_file_bytes, err);
}

static int read_cpus(const struct iso_json_at *at, uint64_t *ret_millis, struct iso_error *err)
{
	if (!cJSON_IsRaw(at->value) || iso_parse_cpus(at->value->valuestring, ret_millis) < 0)
		return iso_json_refuse(at, err, "a positive number such as 2 or 0.5 is needed");
	return 0;
}

static int read_limits(const struct iso_json_at *at, struct iso_policy *policy,
		       struct iso_error *err)
{
	static const char *const known[] = {"memory", "pids", "cpus", "nofile",
					    "fsize",  "tmp",  NULL};
	if (iso_json_object(at, known, err) < 0)
		return -1;
	struct iso_json_at memory = iso_json_member(at, "memory");
	struct iso_json_at pids = iso_json_member(at, "pids");
	struct iso_json_at cpus = iso_json_member(at, "cpus");
	struct iso_json_at nofile = iso_json_member(at, "nofile");
	struct iso_json_at fsize = iso_json_member(at, "fsize");
	struct iso_json_at tmp = iso_json_member(at, "tmp");
	if ((memory.value != NULL && read_size(&memory, &policy->limits.memory_bytes, err) < 0) ||
	    (pids.value != NULL &&
	     iso_json_whole(&pids, 1, LARGEST_PIDS, &policy->limits.pids, err) < 0) ||
	    (cpus.value != NULL && read_cpus(&cpus, &policy->limits.cpu_millis, err) < 0) ||
	    (nofile.value != NULL &&
	     iso_json_whole(&nofile, 3, LARGEST_NOFILE, &policy->limits.nofile, err) < 0) ||
	    (fsize.value != NULL && read_size(&fsize, &policy->limits.fsize_bytes, err) < 0) ||
	    (tmp.value != NULL && read_size(&tmp, &policy->limits.tmp_bytes, err) < 0))
		return -1;
	return 0;
}

static int read_mount(const struct iso_json_at *at, struct iso_policy_mount *mount,
		      struct iso_error *err)
{
	static const char *const known[] = {"source", "target", "mode", NULL};
	const char *source, *target, *mode = "ro";
	if (iso_json_object(at, known, err) < 0)
		return -1;
	struct iso_json_at source_at = iso_json_member(at, "source");
	struct iso_json_at target_at = iso_json_member(at, "target");
	struct iso_json_at mode_at = iso_json_member(at, "mode");
	if (read_absolute(&source_at, &source, err) < 0)
		return -1;
	target = source;
	if (target_at.value != NULL && read_absolute(&target_at, &target, err) < 0)
		return -1;
	if (mode_at.value != NULL && iso_json_text(&mode_at, &mode, err) < 0)
		return -1;
	if (strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0)
		return iso_json_refuse(&mode_at, err, "\"ro\" or \"rw\" is needed");
	mount->writable = strcmp(mode, "rw") == 0;
	return keep(source, &mount->source, err) < 0 || keep(target, &mount->target, err) < 0 ? -1
											      : 0;
}

static int read_mounts(const struct iso_json_at *at, struct iso_policy *policy,
		       struct iso_error *err)
{
	size_t count;
	if (iso_json_array(at, &count, err) < 0)
		return -1;
	policy->mounts = calloc(count + 1, sizeof(*policy->mounts));
	if (policy->mounts == NULL)
		return iso_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct iso_json_at item = iso_json_item(at, i);
		if (read_mount(&item, &policy->mounts[policy->mount_count++], err) < 0)
			return -1;
	}
	return 0;
}

static int read_variable_name(const struct iso_json_at *at, const char **ret_name,
			      struct iso_error *err)
{
	if (read_nonempty(at, ret_name, err) < 0)
		return -1;
	return strchr(*ret_name, '=') != NULL
		       ? iso_json_refuse(at, err, "the name of a variable is needed")
		       : 0;
}

static int read_environment(const struct iso_json_at *at, struct iso_policy *policy,
			    struct iso_error *err)
{
	static const char *const known[] = {"pass", "set", NULL};
	if (iso_json_object(at, known, err) < 0)
		return -1;
	struct iso_json_at pass = iso_json_member(at, "pass");
	struct iso_json_at set = iso_json_member(at, "set");
	if (pass.value != NULL &&
	    read_list(&pass, &policy->pass_environment, read_variable_name, err) < 0)
		return -1;
	if (set.value == NULL)
		return 0;
	if (iso_json_object(&set, NULL, err) < 0)
		return -1;
	const cJSON *item;
	cJSON_ArrayForEach(item, set.value)
	{
		struct iso_json_at member = iso_json_member(&set, item->string);
		const char *value;
		if (*item->string == '\0' || strchr(item->string, '=') != NULL)
			return iso_json_refuse(&member, err, "the name of a variable is needed");
		if (iso_json_text(&member, &value, err) < 0)
			return -1;
		if (iso_strv_addf(&policy->set_environment, "%s=%s", item->string, value) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static int read_host_name(const struct iso_json_at *at, const char **ret_name,
			  struct iso_error *err)
{
	if (iso_json_text(at, ret_name, err) < 0)
		return -1;
	return iso_egress_is_pattern(*ret_name)
		       ? 0
		       : iso_json_refuse(at, err,
					 "a host name in lower case such as example.org, or "
					 "*.example.org is needed");
}

static int read_network(const struct iso_json_at *at, struct iso_policy *policy,
			struct iso_error *err)
{
	static const char *const known[] = {"allow", NULL};
	if (iso_json_object(at, known, err) < 0)
		return -1;
	struct iso_json_at allow = iso_json_member(at, "allow");
	return read_list(&allow, &policy->network_allow, read_host_name, err);
}

static int read_name(const struct iso_json_at *at, const char **ret_name, struct iso_error *err)
{
	if (read_nonempty(at, ret_name, err) < 0)
		return -1;
	return strchr(*ret_name, '/') != NULL
		       ? iso_json_refuse(at, err, "one component of a path is needed")
		       : 0;
}

static int read_private_names(const struct iso_json_at *at, struct iso_policy *policy,
			      struct iso_error *err)
{
	return read_list(at, &policy->private_names, read_name, err);
}

static int read_protected_paths(const struct iso_json_at *at, struct iso_policy *policy,
				struct iso_error *err)
{
	return read_list(at, &policy->protected_paths, read_relative, err);
}

static int read_capabilities(const struct iso_json_at *at, struct iso_policy *policy,
			     struct iso_error *err)
{
	return read_list(at, &policy->capabilities, read_nonempty, err);
}

static int read_seccomp(const struct iso_json_at *at, struct iso_policy *policy,
			struct iso_error *err)
{
	const char *text;
	if (read_nonempty(at, &text, err) < 0)
		return -1;
	if (strcmp(text, "default") == 0)
		return 0;
	if (*text != '/')
		return iso_json_refuse(at, err,
				       "\"default\" or the absolute path of a profile is needed");
	return keep(text, &policy->seccomp, err);
}

static int read_detached(const struct iso_json_at *at, struct iso_policy *policy,
			 struct iso_error *err)
{
	const char *word;
	if (iso_json_text(at, &word, err) < 0)
		return -1;
	if (strcmp(word, "wait") != 0 && strcmp(word, "kill") != 0)
		return iso_json_refuse(at, err, "\"wait\" or \"kill\" is needed");
	policy->detached_given = true;
	policy->detached = strcmp(word, "wait") == 0 ? ISO_DETACHED_WAIT : ISO_DETACHED_KILL;
	return 0;
}

static int read_audit(const struct iso_json_at *at, struct iso_policy *policy,
		      struct iso_error *err)
{
	const char *word;
	if (iso_json_text(at, &word, err) < 0)
		return -1;
	if (strcmp(word, "required") != 0 && strcmp(word, "optional") != 0)
		return iso_json_refuse(at, err, "\"required\" or \"optional\" is needed");
	policy->audit_required = strcmp(word, "required") == 0;
	return 0;
}

static int refuse_host_execution(const struct iso_json_at *at, struct iso_policy *policy,
				 struct iso_error *err)
{
	(void)policy;
	return iso_json_refuse(at, err,
			       "this field does not exist: isorun never executes on the host");
}

static const struct {
	const char *name;
	reader *read;
} members[] = {
	{"root", read_root},
	{"permissions", read_permissions},
	{"commands", read_commands},
	{"timeout_seconds", read_timeout},
	{"bash_timeout_seconds", read_bash_timeout},
	{"output_limit", read_output_limit},
	{"max_file_bytes", read_max_file_bytes},
	{"limits", read_limits},
	{"mounts", read_mounts},
	{"environment", read_environment},
	{"network", read_network},
	{"private_names", read_private_names},
	{"protected_paths", read_protected_paths},
	{"capabilities", read_capabilities},
	{"seccomp", read_seccomp},
	{"detached", read_detached},
	{"audit", read_audit},
	{"allow_host_execution", refuse_host_execution},
};

static int read_policy(const struct iso_json_at *top, struct iso_policy *policy,
		       struct iso_error *err)
{
	const char *known[ISO_COUNT(members) + 1] = {NULL};
	for (size_t i = 0; i < ISO_COUNT(members); i++)
		known[i] = members[i].name;
	if (iso_json_object(top, known, err) < 0)
		return -1;
	for (size_t i = 0; i < ISO_COUNT(members); i++) {
		struct iso_json_at member = iso_json_member(top, members[i].name);
		if (member.value != NULL && members[i].read(&member, policy, err) < 0)
			return -1;
	}
	struct iso_json_at root = iso_json_member(top, "root");
	return root.value == NULL ? iso_json_refuse(&root, err, "it is required") : 0;
}

int iso_policy_parse(const char *what, const char *text, size_t size, struct iso_policy *ret_policy,
		     struct iso_error *err)
{
	struct iso_policy policy = {
		.permissions = ISO_PERMISSION_READ,
		.timeout_ms = DEFAULT_TIMEOUT_MS,
		.bash_timeout_ms = DEFAULT_BASH_MS,
		.output_limit_bytes = DEFAULT_OUTPUT,
		.max_file_bytes = DEFAULT_FILE_BYTES,
		.limits = {ISO_DEFAULT, ISO_DEFAULT, ISO_DEFAULT, ISO_DEFAULT, ISO_DEFAULT,
			   ISO_DEFAULT},
	};
	cJSON *root;
	if (iso_json_parse(what, text, size, &root, err) < 0)
		return -1;
	struct iso_json_at top = iso_json_root(what, root);
	int status = read_policy(&top, &policy, err);
	cJSON_Delete(root);
	if (status < 0) {
		iso_policy_done(&policy);
		return -1;
	}
	*ret_policy = policy;
	return 0;
}
