/*
 * Request, host → plan, in the order in which a user would want to hear of mistakes: the command,
 * the places, the limits, the identity, the environment, the file system.
 */
#include "runner/plan/build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"
#include "runner/base/text/json_read.h"
#include "runner/plan/defaults.h"
#include "runner/workspace/operator_file.h"

#define SMALLEST_MEMORY	     (UINT64_C(1) << 20)
#define LARGEST_PIDS	     4000000 /* beyond the kernel's PID_MAX_LIMIT */
#define LANDLOCK_WITH_RENAME 2
#define HOSTNAME_MAX	     64
#define ID_MAX		     (UINT32_MAX - 1)

static int build_argv(const struct iso_request *request, struct iso_command *command,
		      struct iso_error *err)
{
	if (request->argv == NULL || request->argv[0] == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "read the command: none is given");
	if (request->argv[0][strspn(request->argv[0], " \t\r\n")] == '\0')
		return iso_error_set(err, ISO_ERR_INVALID, 0, "read the command: it is blank");
	for (const char *const *item = request->argv; *item != NULL; item++) {
		if (iso_strv_add(&command->argv, *item) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

/* Where the command may start: the workspace and what the caller bound at its own path. */
static bool is_allowed_workdir(const struct iso_world *world, const char *path)
{
	for (size_t i = 0; i < world->fsop_count; i++) {
		const struct iso_fsop *op = &world->fsops[i];
		if (op->by_caller && strcmp(op->source, op->target) == 0 &&
		    iso_path_is_beneath(path, op->target))
			return true;
	}
	return false;
}

static int build_workdir(const struct iso_request *request, const struct iso_world *world,
			 struct iso_command *command, struct iso_error *err)
{
	if (request->workdir == NULL) {
		command->workdir = strdup(world->workspace);
		return command->workdir == NULL ? iso_error_nomem(err) : 0;
	}
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path workdir = {.fd = -1};
	if (*request->workdir == '\0')
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "open the working directory: its name is empty");
	if (iso_named_path_open(request->workdir, "the working directory", &workdir, err) < 0)
		return -1;
	if (!S_ISDIR(workdir.mode))
		return iso_error_set(err, ISO_ERR_INVALID, ENOTDIR,
				     "open the working directory \"%s\"", request->workdir);
	if (!is_allowed_workdir(world, workdir.path))
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "use \"%s\" as working directory: it is outside the workspace "
				     "\"%s\"",
				     workdir.path, world->workspace);
	command->workdir = ISO_TAKE_PTR(workdir.path);
	iso_fd_close(workdir.fd);
	return 0;
}

static uint64_t value_or(uint64_t value, uint64_t standard)
{
	return value == ISO_DEFAULT ? standard : value;
}

static int refuse_limit(const char *name, uint64_t value, const char *rule, struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0, "limit %s to %" PRIu64 ": %s", name, value,
			     rule);
}

static int build_world_limits(const struct iso_request *request, const struct iso_host *host,
			      struct iso_limits *limits, struct iso_error *err)
{
	*limits = (struct iso_limits){
		.memory_max_bytes =
			value_or(request->memory_max_bytes, iso_default_memory(host->memory_bytes)),
		.pids_max_count = value_or(request->pids_max_count, ISO_DEFAULT_PIDS),
		.cpu_max_millis = value_or(request->cpu_max_millis, ISO_UNLIMITED),
	};
	if (limits->memory_max_bytes < SMALLEST_MEMORY || limits->memory_max_bytes > INT64_MAX)
		return refuse_limit("memory", limits->memory_max_bytes, "at least 1M is needed",
				    err);
	if (limits->pids_max_count < 1 || limits->pids_max_count > LARGEST_PIDS)
		return refuse_limit("processes", limits->pids_max_count, "1 to 4000000 make sense",
				    err);
	if (limits->cpu_max_millis == 0)
		return refuse_limit("CPUs", 0, "it must be positive", err);
	return 0;
}

static int build_command_limits(const struct iso_request *request, const struct iso_host *host,
				struct iso_command_limits *limits, struct iso_error *err)
{
	*limits = (struct iso_command_limits){
		.wall_ms = value_or(request->wall_limit_ms, ISO_UNLIMITED),
		.grace_ms = value_or(request->grace_ms, ISO_DEFAULT_GRACE_MS),
		.nofile_soft_count = value_or(request->nofile_max_count, ISO_DEFAULT_NOFILE_SOFT),
		.nofile_hard_count = value_or(request->nofile_max_count, ISO_DEFAULT_NOFILE_HARD),
		.fsize_max_bytes = value_or(request->fsize_max_bytes, ISO_UNLIMITED),
	};
	if (limits->wall_ms == 0)
		return refuse_limit("wall time", 0, "it must be positive", err);
	if (limits->nofile_soft_count < 3)
		return refuse_limit("open files", limits->nofile_soft_count,
				    "the standard streams need 3", err);
	if (request->nofile_max_count != ISO_DEFAULT &&
	    request->nofile_max_count > host->nofile_hard_count)
		return refuse_limit("open files", limits->nofile_soft_count,
				    "it exceeds isorun's own hard limit", err);
	if (limits->nofile_hard_count > host->nofile_hard_count)
		limits->nofile_hard_count = host->nofile_hard_count;
	if (limits->nofile_soft_count > limits->nofile_hard_count)
		limits->nofile_soft_count = limits->nofile_hard_count;
	return 0;
}

static int inner_id(uint64_t requested, uint64_t standard, const char *name, uint32_t *ret_id,
		    struct iso_error *err)
{
	uint64_t id = value_or(requested, standard);
	if (id > ID_MAX)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "use %" PRIu64 " as %s: ids end at %u", id, name, ID_MAX);
	*ret_id = (uint32_t)id;
	return 0;
}

/*
 * Who the payload is on the host. Started as root: ids that own nothing, with the workspace's owner
 * mapped to them. Where the file system cannot map: the workspace's owner, if that is not root, and
 * the receipt says so. Started by an ordinary user: that user, the only one it can map.
 */
static int build_host_identity(const struct iso_request *request,
			       const struct iso_plan_means *means, struct iso_identity *identity,
			       struct iso_error *err)
{
	const struct iso_named_path *workspace = iso_survey_workspace(means->survey);
	if (!means->host->privileged) {
		identity->kind = ISO_IDENTITY_CALLER;
		identity->host_uid = means->host->euid;
		identity->host_gid = means->host->egid;
		return 0;
	}
	identity->kind = ISO_IDENTITY_MAPPED;
	if (means->survey->can_be_mapped || request->workspace_read_only)
		return 0;
	if (workspace->uid == 0 || workspace->gid == 0) {
		iso_error_set(
			err, ISO_ERR_UNSUPPORTED, 0,
			"give the workspace \"%s\" to a payload that is not root: its file system "
			"cannot be id-mapped, and it belongs to root",
			workspace->path);
		return iso_error_hint(err,
				      "use a file system that can (ext4, xfs, btrfs), give the "
				      "directory to an ordinary user (chown), or use "
				      "--workspace-mode ro");
	}
	identity->kind = ISO_IDENTITY_OWNER;
	identity->host_uid = workspace->uid;
	identity->host_gid = workspace->gid;
	return 0;
}

static int build_identity(const struct iso_request *request, const struct iso_plan_means *means,
			  struct iso_identity *identity, struct iso_error *err)
{
	const struct iso_host *host = means->host;
	uint64_t uid = host->privileged || host->euid == 0 ? ISO_DEFAULT_INNER_ID : host->euid;
	uint64_t gid = host->privileged || host->egid == 0 ? ISO_DEFAULT_INNER_ID : host->egid;
	if (inner_id(request->uid, uid, "user id", &identity->inner_uid, err) < 0 ||
	    inner_id(request->gid, gid, "group id", &identity->inner_gid, err) < 0)
		return -1;
	return build_host_identity(request, means, identity, err);
}

static bool is_assignment(const char *text)
{
	const char *equals = strchr(text, '=');
	return equals != NULL && equals != text;
}

/* RUN-6: built from an allow list, never inherited. */
static int build_environment(const struct iso_request *request, struct iso_command *command,
			     struct iso_error *err)
{
	static const char *const fixed[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/tmp",
		"LANG=C.UTF-8",
		"TERM=dumb",
		"TMPDIR=/tmp",
	};
	for (size_t i = 0; i < ISO_COUNT(fixed); i++) {
		if (iso_strv_add(&command->env, fixed[i]) < 0)
			return iso_error_nomem(err);
	}
	for (const char *const *item = request->env; item != NULL && *item != NULL; item++) {
		if (!is_assignment(*item))
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "set the variable \"%s\": NAME=VALUE is needed",
					     *item);
		if (iso_strv_set_variable(&command->env, *item) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static int build_hostname(const struct iso_request *request, struct iso_world *world,
			  struct iso_error *err)
{
	const char *name = request->hostname != NULL ? request->hostname : "isorun";
	size_t length = strlen(name);
	if (length < 1 || length > HOSTNAME_MAX || name[strcspn(name, " \t\r\n/")] != '\0')
		return iso_error_set(
			err, ISO_ERR_INVALID, 0,
			"use \"%s\" as host name: 1 to %d bytes without blanks and slashes "
			"are needed",
			name, HOSTNAME_MAX);
	world->hostname = strdup(name);
	return world->hostname == NULL ? iso_error_nomem(err) : 0;
}

static int build_seccomp(const struct iso_request *request, const struct iso_plan_means *means,
			 struct iso_world *world, struct iso_error *err)
{
	const char *path = request->seccomp_profile;
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file file = {0};
	if (path == NULL)
		return 0;
	if (iso_operator_file_read(path, "the seccomp profile", ISO_JSON_SIZE_MAX, &file, err) <
		    0 ||
	    iso_writable_refuse(&means->survey->writable, path, &file.named, "the seccomp profile",
				err) < 0)
		return -1;
	ISO_AUTO_FREE char *what = iso_strf("seccomp profile \"%s\"", path);
	if (what == NULL)
		return iso_error_nomem(err);
	return iso_seccomp_cache_get(means->filters, what, file.text, file.size, &world->seccomp,
				     err);
}

static int build_workspace(const struct iso_request *request, const struct iso_survey *survey,
			   struct iso_world *world, struct iso_error *err)
{
	const struct iso_named_path *workspace = iso_survey_workspace(survey);
	world->workspace = strdup(workspace->path);
	world->workspace_read_only = request->workspace_read_only;
	world->workspace_dev = workspace->dev;
	world->workspace_ino = workspace->ino;
	return world->workspace == NULL ? iso_error_nomem(err) : 0;
}

static int build_world(const struct iso_request *request, const struct iso_plan_means *means,
		       struct iso_world *world, struct iso_error *err)
{
	uint32_t landlock_abi = means->host->landlock_abi;
	if (build_workspace(request, means->survey, world, err) < 0 ||
	    build_world_limits(request, means->host, &world->limits, err) < 0 ||
	    build_hostname(request, world, err) < 0 ||
	    build_identity(request, means, &world->identity, err) < 0 ||
	    build_seccomp(request, means, world, err) < 0)
		return -1;
	world->cgroup_optional = request->cgroup_optional;
	world->capabilities = request->capabilities;
	/* Before its second version Landlock forbids every rename across directories. */
	world->landlock_abi = landlock_abi >= LANDLOCK_WITH_RENAME ? landlock_abi : 0;
	return iso_plan_build_filesystem(request, means->survey, world, err);
}

static void build_streams(const struct iso_request *request, struct iso_streams *streams)
{
	uint64_t limit = value_or(request->output_limit_bytes, ISO_DEFAULT_OUTPUT_LIMIT);
	*streams = (struct iso_streams){
		.capture = request->capture,
		.merge = request->merge_streams,
		.keep = request->keep,
		.count_characters = request->limit_characters,
		.limits_each = {limit, value_or(request->stderr_limit_bytes, limit)},
	};
}

static int build_command(const struct iso_request *request, const struct iso_host *host,
			 struct iso_command *command, struct iso_error *err)
{
	if (build_argv(request, command, err) < 0 ||
	    build_command_limits(request, host, &command->limits, err) < 0 ||
	    build_environment(request, command, err) < 0)
		return -1;
	build_streams(request, &command->streams);
	command->detached = request->detached;
	command->tty = request->tty;
	command->tty_rows = request->tty_rows != 0 ? request->tty_rows : ISO_DEFAULT_ROWS;
	command->tty_columns =
		request->tty_columns != 0 ? request->tty_columns : ISO_DEFAULT_COLUMNS;
	return 0;
}

int iso_plan_build(const struct iso_request *request, const struct iso_plan_means *means,
		   struct iso_plan *ret_plan, struct iso_error *err)
{
	struct iso_plan plan = {0};
	if (build_command(request, means->host, &plan.command, err) < 0 ||
	    build_world(request, means, &plan.world, err) < 0 ||
	    build_workdir(request, &plan.world, &plan.command, err) < 0) {
		iso_plan_done(&plan);
		return -1;
	}
	*ret_plan = plan;
	return 0;
}
