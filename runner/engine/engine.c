/*
 * The story of a run: plan, prepare, launch, supervise, classify, keep. Whatever happens on the way
 * ends in a result; what was created is removed on every path.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/utf8.h"
#include "runner/isorun.h"
#include "runner/plan/build.h"
#include "runner/engine/receipt.h"
#include "runner/plan/request.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/watch/classify.h"
#include "sandbox/watch/drain.h"
#include "sandbox/host.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/prepare.h"
#include "sandbox/watch/supervise.h"

#define DEFAULT_OUTPUT_LIMIT 16000
#define REMOVE_LIMIT_MS	     2000
#define EXIT_OUTPUT_LOST     125
#define UTF8_LONGEST	     4

struct iso_engine {
	struct iso_host host;
	int init_fd;	 /* owned; the init program */
	int dev_null_fd; /* owned */
	struct iso_idmap_cache idmaps;
	struct iso_template_cache templates;
	struct iso_seccomp_custom seccomp; /* the last custom filter */
	struct iso_cgroup_site site;
	struct iso_error site_error; /* why there is no site; code ISO_OK when there is one */
};

/* One run's resources, released together. */
struct run {
	struct iso_engine *engine; /* borrowed */
	const struct iso_request *request;
	struct iso_plan plan;
	struct iso_cgroup cgroup;
	struct iso_stream streams[2];
	struct iso_prepared prepared;
	struct iso_process process;
	struct iso_ending ending;
	int64_t started_mono_ns;
	int workspace_fd; /* owned; open while a diff is wanted, else -1 */
	struct iso_snapshot before;
};

void iso_request_init(struct iso_request *ret_request)
{
	*ret_request = (struct iso_request){
		.uid = ISO_DEFAULT,
		.gid = ISO_DEFAULT,
		.memory_max_bytes = ISO_DEFAULT,
		.pids_max_count = ISO_DEFAULT,
		.cpu_max_millis = ISO_UNLIMITED,
		.wall_limit_ms = ISO_UNLIMITED,
		.grace_ms = ISO_DEFAULT,
		.nofile_max_count = ISO_DEFAULT,
		.fsize_max_bytes = ISO_UNLIMITED,
		.tmp_size_bytes = ISO_DEFAULT,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.cancel_fd = -1,
		.output_limit_bytes = ISO_DEFAULT,
		.stderr_limit_bytes = ISO_DEFAULT,
	};
}

int iso_engine_new(iso_engine **ret_engine, struct iso_error *err)
{
	iso_engine *engine = calloc(1, sizeof(*engine));
	if (engine == NULL)
		return iso_error_nomem(err);
	engine->init_fd = -1;
	engine->dev_null_fd = iso_fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (engine->dev_null_fd < 0)
		iso_error_set(err, ISO_ERR_SYSTEM, errno, "open \"/dev/null\"");
	if (engine->dev_null_fd < 0 || iso_host_probe(&engine->host, err) < 0 ||
	    (engine->init_fd = iso_launch_open_init(err)) < 0) {
		iso_engine_free(engine);
		return -1;
	}
	/* Without a place for cgroups only requests that call them optional can run. */
	if (iso_cgroup_site_open(&engine->site, &engine->site_error) < 0 &&
	    engine->site_error.code == ISO_OK)
		engine->site_error.code = ISO_ERR_INTERNAL;
	*ret_engine = engine;
	return 0;
}

void iso_engine_free(iso_engine *engine)
{
	if (engine == NULL)
		return;
	iso_cgroup_sweep(&engine->site);
	iso_cgroup_site_done(&engine->site);
	iso_idmap_cache_done(&engine->idmaps);
	iso_template_cache_done(&engine->templates);
	iso_seccomp_custom_done(&engine->seccomp);
	iso_fd_close(engine->init_fd);
	iso_fd_close(engine->dev_null_fd);
	free(engine);
}

static int build_plan(iso_engine *engine, const struct iso_request *request,
		      struct iso_plan *ret_plan, struct iso_error *err)
{
	const struct iso_plan_means means = {&engine->host, &engine->idmaps, &engine->seccomp};
	return iso_plan_build(request, &means, ret_plan, err);
}

static const struct iso_cgroup *cgroup_of(const struct run *run)
{
	return run->cgroup.mode == ISO_CGROUP_NONE ? NULL : &run->cgroup;
}

static int create_cgroup(struct run *run, struct iso_error *err)
{
	const iso_engine *engine = run->engine;
	if (engine->site_error.code == ISO_OK)
		return iso_cgroup_create(&engine->site, &run->cgroup, err);
	*err = engine->site_error;
	return -1;
}

/* Where it may also be none, which the receipt says, that is decided before anything starts. */
static void try_cgroup(struct run *run)
{
	struct iso_error refused = {0};
	if (create_cgroup(run, &refused) == 0 &&
	    iso_cgroup_limit(&run->cgroup, &run->plan.limits, &refused) < 0)
		(void)iso_cgroup_remove(&run->cgroup, iso_clock_mono_ns(), NULL);
}

/* How much of a stream is kept, in bytes or characters. */
static uint64_t stream_limit(const struct iso_request *request, int stream)
{
	if (stream == 1 && request->stderr_limit_bytes != ISO_DEFAULT)
		return request->stderr_limit_bytes;
	return request->output_limit_bytes == ISO_DEFAULT ? DEFAULT_OUTPUT_LIMIT
							  : request->output_limit_bytes;
}

static int open_streams(struct run *run, struct iso_error *err)
{
	const struct iso_request *request = run->request;
	const struct iso_identity *identity = &run->plan.identity;
	bool give_away = identity->kind != ISO_IDENTITY_CALLER;
	int64_t uid = give_away ? (int64_t)identity->host_uid : -1;
	int64_t gid = give_away ? (int64_t)identity->host_gid : -1;
	const int outlets[2] = {request->stdout_fd, request->stderr_fd};
	for (int i = 0; i < 2; i++) {
		uint64_t limit = stream_limit(request, i);
		if (request->limit_characters && limit < UINT64_MAX / UTF8_LONGEST)
			limit *= UTF8_LONGEST; /* what is too much is cut at the end */
		if (iso_stream_open(&run->streams[i], outlets[i], request->capture, limit,
				    request->keep, uid, gid, err) < 0)
			return -1;
		run->streams[i].count_characters = request->limit_characters;
	}
	return 0;
}

/* The workspace as it was, from a descriptor that the payload cannot turn elsewhere. */
static int look_before(struct run *run, struct iso_error *err)
{
	const struct iso_plan *plan = &run->plan;
	struct stat st;
	if (!run->request->diff || plan->workspace_read_only)
		return 0;
	run->workspace_fd = iso_fd_above_stdio(
		open(plan->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (run->workspace_fd < 0 || fstat(run->workspace_fd, &st) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read the workspace \"%s\"",
				     plan->workspace);
	if (st.st_dev != plan->workspace_dev || st.st_ino != plan->workspace_ino)
		return iso_error_set(
			err, ISO_ERR_SYSTEM, 0,
			"read the workspace \"%s\": it was replaced since the plan was made",
			plan->workspace);
	if (iso_snapshot_take(run->workspace_fd, &iso_snapshot_standard, &run->before, err) < 0)
		return -1;
	iso_snapshot_settle(&run->before);
	return 0;
}

/* And as it is, now that nobody writes to it any more. */
static int look_after(struct run *run, struct iso_result *result, struct iso_error *err)
{
	struct iso_snapshot after;
	if (run->workspace_fd < 0)
		return 0;
	if (iso_snapshot_take(run->workspace_fd, &iso_snapshot_standard, &after, err) < 0)
		return -1;
	int status = iso_diff_compare(&run->before, &after, run->plan.protected_paths.items,
				      &result->diff, err);
	iso_snapshot_done(&after);
	result->has_diff = status == 0;
	return status;
}

/* Let the child, which has set itself up meanwhile, go on under its limits. */
static int release_child(struct run *run, struct iso_error *err)
{
	bool settled = cgroup_of(run) == NULL || run->plan.cgroup_optional;
	if ((settled || iso_cgroup_limit(&run->cgroup, &run->plan.limits, err) == 0) &&
	    iso_prepared_release(&run->prepared, err) == 0)
		return 0;
	run->ending.left_behind = !iso_process_abandon(&run->process);
	return -1;
}

static int start(struct run *run, struct iso_error *err)
{
	if (look_before(run, err) < 0)
		return -1;
	run->started_mono_ns = iso_clock_mono_ns(); /* looking is not the payload's time */
	if (run->plan.cgroup_optional)
		try_cgroup(run);
	else if (create_cgroup(run, err) < 0)
		return -1;
	if (open_streams(run, err) < 0)
		return -1;
	const struct iso_launch_fds fds = {
		.init_fd = run->engine->init_fd,
		.stdin_fd = run->request->stdin_fd >= 0 && !run->plan.tty
				    ? run->request->stdin_fd
				    : run->engine->dev_null_fd,
		.stdout_fd = run->streams[0].write_fd,
		.stderr_fd = run->streams[run->request->merge_streams ? 0 : 1].write_fd,
	};
	if (iso_prepare(&run->plan, cgroup_of(run), &fds, &run->engine->idmaps,
			&run->engine->templates, &run->prepared, err) < 0 ||
	    iso_launch(&run->prepared, cgroup_of(run), &run->process, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		run->streams[i].write_fd = iso_fd_close(run->streams[i].write_fd);
	return release_child(run, err);
}

static void supervise(struct run *run)
{
	const struct iso_supervision supervision = {
		.process = &run->process,
		.control_fd = run->prepared.control_fd,
		.cgroup = cgroup_of(run),
		.streams = {&run->streams[0], &run->streams[1]},
		.cancel_fd = run->request->cancel_fd,
		.input_fd = run->plan.tty ? run->request->stdin_fd : -1,
		.on_progress = run->request->on_progress,
		.progress_data = run->request->progress_data,
		.detached = run->plan.detached,
		.started_mono_ns = run->started_mono_ns,
		.wall_limit_ms = run->plan.limits.wall_limit_ms,
		.grace_ms = run->plan.limits.grace_ms,
	};
	iso_supervise(&supervision, &run->ending);
}

/* Leave at most `limit` characters, from the end that is kept. */
static void cut_to_characters(struct iso_captured *captured, uint64_t limit)
{
	size_t characters = iso_utf8_count(captured->data, captured->size);
	if (characters > limit) {
		captured->truncated = true;
		size_t surplus = characters - (size_t)limit;
		if (captured->keep == ISO_KEEP_TAIL) {
			size_t cut = iso_utf8_offset(captured->data, captured->size, surplus);
			captured->size -= cut;
			memmove(captured->data, captured->data + cut, captured->size);
		} else {
			captured->size =
				iso_utf8_offset(captured->data, captured->size, (size_t)limit);
		}
		characters = (size_t)limit;
	}
	captured->retained_characters = characters;
}

/* Keep what the stream retained, and its digest. */
static int keep_stream(struct iso_stream *stream, const struct iso_request *request, int index,
		       struct iso_captured *ret_captured, struct iso_error *err)
{
	struct iso_captured captured = {
		.captured = stream->capture,
		.total_bytes = stream->retain.total_bytes,
		.keep = stream->retain.keep,
	};
	if (stream->capture) {
		if (stream->out_of_memory)
			return iso_error_nomem(err);
		iso_sha256_finish(&stream->sha256, captured.sha256);
		const uint8_t *data = iso_retain_finish(&stream->retain, &captured.size);
		captured.data = malloc(captured.size + 1);
		if (captured.data == NULL)
			return iso_error_nomem(err);
		memcpy(captured.data, data, captured.size);
		captured.truncated = iso_retain_truncated(&stream->retain);
		if (request->limit_characters) {
			captured.counts_characters = true;
			captured.total_characters = stream->characters;
			cut_to_characters(&captured, stream_limit(request, index));
		}
	}
	*ret_captured = captured;
	return 0;
}

/* Output that could not be read, or not be delivered as asked for, must not look like success. A
 * reader that left (EPIPE) is no error of ours: the payload saw that itself. */
static void note_lost_output(const struct run *run, struct iso_outcome *outcome)
{
	static const char *const names[2] = {"standard output", "standard error"};
	for (int i = 0; i < 2; i++) {
		const struct iso_stream *stream = &run->streams[i];
		bool undelivered = stream->outlet_errno != 0 && stream->outlet_errno != EPIPE;
		if (outcome->status != ISO_STATUS_COMPLETED ||
		    (stream->read_errno == 0 && !undelivered))
			continue;
		outcome->status = ISO_STATUS_INTERNAL_ERROR;
		outcome->exit_code = EXIT_OUTPUT_LOST;
		if (stream->read_errno != 0)
			iso_error_set(&outcome->error, ISO_ERR_SYSTEM, stream->read_errno,
				      "OutputLost: read the command's %s", names[i]);
		else
			iso_error_set(&outcome->error, ISO_ERR_SYSTEM, stream->outlet_errno,
				      "OutputLost: pass the command's %s through", names[i]);
	}
}

/* Fill the result with what a launched run was and left. */
static int keep(struct run *run, struct iso_result *result, struct iso_error *err)
{
	result->launched = true;
	result->usage = (struct iso_cgroup_usage){
		ISO_UNKNOWN, ISO_UNKNOWN, ISO_UNKNOWN, ISO_UNKNOWN, ISO_UNKNOWN, ISO_UNKNOWN,
	};
	result->memory_effective_bytes = ISO_UNKNOWN;
	result->pids_effective_count = ISO_UNKNOWN;
	result->cpu_effective_millis = ISO_UNKNOWN;
	if (cgroup_of(run) != NULL) {
		iso_cgroup_read_usage(&run->cgroup, &result->usage);
		result->memory_effective_bytes = run->cgroup.memory_effective_bytes;
		result->pids_effective_count = run->cgroup.pids_effective_count;
		result->cpu_effective_millis = run->cgroup.cpu_effective_millis;
	}
	iso_classify(&run->plan, &run->ending, &result->usage, &result->outcome);
	note_lost_output(run, &result->outcome);
	result->survivors_killed = run->ending.survivors_killed;
	result->cgroup_mode = run->cgroup.mode;
	result->elapsed_us = (run->ending.ended_mono_ns - run->started_mono_ns) / 1000;
	for (int i = 0; i < 2; i++) {
		if (keep_stream(&run->streams[i], run->request, i, &result->streams[i], err) < 0)
			return -1;
	}
	return look_after(run, result, err);
}

static void release(struct run *run, struct iso_result *result)
{
	struct iso_error left = {0};
	int64_t deadline = iso_deadline_after(iso_clock_mono_ns(), REMOVE_LIMIT_MS);
	if (iso_cgroup_remove(&run->cgroup, deadline, &left) < 0 &&
	    result->outcome.error.hint[0] == '\0')
		iso_error_hint(&result->outcome.error, "left behind: %s", left.message);
	for (int i = 0; i < 2; i++)
		iso_stream_done(&run->streams[i]);
	/* A set-up child that cannot be killed still reads this memory: it is given to it. */
	if (!run->ending.left_behind || run->ending.started) {
		iso_prepared_done(&run->prepared);
		iso_plan_done(&run->plan);
	}
	iso_fd_close(run->process.pidfd);
	iso_fd_close(run->workspace_fd);
	iso_snapshot_done(&run->before);
}

static int execute(struct run *run, struct iso_result *result, struct iso_error *err)
{
	struct iso_error refused = {0};
	if (run->request->capture &&
	    iso_request_print(run->request, &result->request_json, err) < 0)
		return -1;
	if (build_plan(run->engine, run->request, &run->plan, &refused) < 0) {
		iso_classify_refused(&refused, &result->outcome);
		return 0;
	}
	result->requested = run->plan.limits;
	result->identity = run->plan.identity;
	result->landlock_abi = run->plan.landlock_abi;
	result->capabilities = run->plan.capabilities;
	result->seccomp_custom = run->plan.seccomp != NULL;
	result->workspace_read_only = run->plan.workspace_read_only;
	result->workspace = strdup(run->plan.workspace);
	if (result->workspace == NULL)
		return iso_error_nomem(err);
	if (run->request->capture && iso_plan_print(&run->plan, &result->plan_json, err) < 0)
		return -1;
	if (start(run, &refused) < 0) {
		iso_classify_refused(&refused, &result->outcome);
		return 0;
	}
	supervise(run);
	return keep(run, result, err);
}

int iso_engine_run(iso_engine *engine, const struct iso_request *request, iso_result **ret_result,
		   struct iso_error *err)
{
	struct iso_result *result;
	if (iso_result_new(&result, err) < 0)
		return -1;
	struct run run = {
		.engine = engine,
		.request = request,
		.streams = {{.read_fd = -1, .write_fd = -1, .outlet = {.fd = -1}},
			    {.read_fd = -1, .write_fd = -1, .outlet = {.fd = -1}}},
		.process = {.pidfd = -1},
		.workspace_fd = -1,
		.started_mono_ns = iso_clock_mono_ns(),
	};
	int status = execute(&run, result, err);
	release(&run, result);
	engine->templates.wanted = true; /* where one run has been, others come */
	if (status < 0) {
		iso_result_free(result);
		return -1;
	}
	*ret_result = result;
	return 0;
}

int iso_engine_plan(iso_engine *engine, const struct iso_request *request, char **ret_json,
		    struct iso_error *err)
{
	ISO_CLEANUP(iso_plan_done) struct iso_plan plan = {0};
	if (build_plan(engine, request, &plan, err) < 0)
		return -1;
	return iso_plan_print(&plan, ret_json, err);
}

int iso_gc(uint64_t *ret_removed, struct iso_error *err)
{
	return iso_cgroup_gc(ret_removed, err);
}
