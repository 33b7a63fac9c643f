/*
 * The story of a run: plan, look, prepare, launch, supervise, classify, keep, remove. Whatever
 * happens on the way ends in a result; what was created is removed on every path.
 *
 * From its start on a run goes from state to state, in iso_run_step and nowhere else: watched until
 * the last process has gone, then removing its cgroup, which may take some tries, then ended.
 */
#include "runner/engine/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/sized.h"
#include "runner/engine/capture.h"
#include "runner/engine/looks.h"
#include "runner/engine/receipt.h"
#include "runner/engine/station.h"
#include "runner/engine/stuck.h"
#include "runner/plan/request.h"
#include "sandbox/launch/launch.h"
#include "sandbox/watch/supervise.h"

#define REMOVE_LIMIT_MS 2000
#define REMOVE_RETRY_NS 500000

enum state {
	STATE_WATCHED,
	STATE_REMOVING,
	STATE_ENDED,
};

struct iso_run {
	iso_station *station;	    /* held */
	struct iso_request request; /* its pointers are not followed after the start */
	struct iso_result *result;  /* owned until it is taken */
	enum state state;
	struct iso_plan plan;
	struct iso_payload_ids ids;
	struct iso_cgroup cgroup;
	struct iso_stream streams[2];
	struct iso_prepared prepared;
	struct iso_process process;
	struct iso_watch watch;
	struct iso_supervision supervision;
	int64_t remove_deadline_ns;
	struct iso_looks looks;
};

static const struct iso_cgroup *cgroup_of(const struct iso_run *run)
{
	return run->cgroup.mode == ISO_CGROUP_NONE ? NULL : &run->cgroup;
}

static int create_cgroup(struct iso_run *run, struct iso_error *err)
{
	const iso_station *station = run->station;
	if (station->site_error.code == ISO_OK)
		return iso_cgroup_create(&station->site, &run->cgroup, err);
	*err = station->site_error;
	return -1;
}

/* Where it may also be none, which the receipt says, that is decided before anything starts. */
static int open_cgroup(struct iso_run *run, struct iso_error *err)
{
	struct iso_error refused = {0};
	if (!run->plan.world.cgroup_optional)
		return create_cgroup(run, err);
	if (create_cgroup(run, &refused) == 0 &&
	    iso_cgroup_limit(&run->cgroup, &run->plan.world.limits, &refused) < 0)
		(void)iso_cgroup_remove(&run->cgroup, iso_clock_mono_ns(), NULL);
	return 0;
}

static int look_before(struct iso_run *run, struct iso_error *err)
{
	const struct iso_world *world = &run->plan.world;
	if (!run->request.diff || world->workspace_read_only)
		return 0;
	return iso_looks_before(&run->looks, world, run->plan.command.limits.wall_ms,
				run->request.cancel_fd, err);
}

/* Let the child, which has set itself up meanwhile, go on under its limits. */
static int release_child(struct iso_run *run, struct iso_error *err)
{
	const struct iso_world *world = &run->plan.world;
	bool settled = cgroup_of(run) == NULL || world->cgroup_optional;
	if ((settled || iso_cgroup_limit(&run->cgroup, &world->limits, err) == 0) &&
	    iso_prepared_release(&run->prepared, err) == 0)
		return 0;
	run->supervision.ending.left_behind = !iso_process_abandon(&run->process);
	return -1;
}

static int take_ids(struct iso_run *run, struct iso_error *err)
{
	if (iso_payload_ids_take(&run->station->launcher, &run->plan.world.identity, &run->ids,
				 err) < 0)
		return -1;
	run->result->identity = run->ids.identity;
	return 0;
}

static int launch(struct iso_run *run, struct iso_error *err)
{
	const struct iso_request *request = &run->request;
	const struct iso_command *command = &run->plan.command;
	const int outlets[2] = {request->stdout_fd, request->stderr_fd};
	if (open_cgroup(run, err) < 0 || take_ids(run, err) < 0 ||
	    iso_capture_open(run->streams, &command->streams, &run->ids.identity, outlets, err) <
		    0 ||
	    iso_watch_open(&run->watch, err) < 0)
		return -1;
	const struct iso_launch_order order = {
		.plan = &run->plan,
		.ids = &run->ids,
		.cgroup = cgroup_of(run),
		.stdio =
			{
				request->stdin_fd >= 0 && !command->tty ? request->stdin_fd
									: run->station->dev_null_fd,
				run->streams[0].write_fd,
				run->streams[command->streams.merge ? 0 : 1].write_fd,
			},
	};
	if (iso_prepare(&run->station->launcher, &order, &run->prepared, err) < 0 ||
	    iso_launch(&run->prepared, cgroup_of(run), &run->process, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		run->streams[i].write_fd = iso_fd_close(run->streams[i].write_fd);
	return release_child(run, err);
}

static void watch(struct iso_run *run)
{
	const struct iso_request *request = &run->request;
	struct iso_supervision *supervision = &run->supervision;
	supervision->watch = &run->watch;
	supervision->process = &run->process;
	supervision->setup_at = &run->prepared.child_at;
	supervision->control_fd = run->prepared.control_fd;
	supervision->uid_map = run->prepared.uid_map;
	supervision->gid_map = run->prepared.gid_map;
	supervision->cgroup = cgroup_of(run);
	supervision->streams[0] = &run->streams[0];
	supervision->streams[1] = &run->streams[1];
	supervision->cancel_fd = request->cancel_fd;
	supervision->input_fd = run->plan.command.tty ? request->stdin_fd : -1;
	supervision->on_progress = request->on_progress;
	supervision->progress_data = request->progress_data;
	supervision->detached = run->plan.command.detached;
	supervision->wall_limit_ms = run->plan.command.limits.wall_ms;
	supervision->grace_ms = run->plan.command.limits.grace_ms;
	iso_supervise_begin(supervision);
}

/* The digest of a text that was printed for it, and is freed. */
static void digest(char *text, char ret_sha256[ISO_SHA256_HEX_SIZE])
{
	iso_sha256_hex(text, strlen(text), ret_sha256);
	free(text);
}

static int note_request(struct iso_run *run, struct iso_error *err)
{
	char *text;
	if (!run->request.capture)
		return 0;
	if (iso_request_print(&run->request, &text, err) < 0)
		return -1;
	digest(text, run->result->request_sha256);
	return 0;
}

/* What the result says of the plan. */
static int note_plan(struct iso_run *run, struct iso_error *err)
{
	const struct iso_world *world = &run->plan.world;
	struct iso_result *result = run->result;
	result->requested = world->limits;
	result->command_limits = run->plan.command.limits;
	result->identity = world->identity;
	result->landlock_abi = world->landlock_abi;
	result->capabilities = world->capabilities;
	result->seccomp_custom = world->seccomp.count > 0;
	result->workspace_read_only = world->workspace_read_only;
	result->workspace = strdup(world->workspace);
	if (result->workspace == NULL)
		return iso_error_nomem(err);
	if (!run->request.capture)
		return 0;
	char *text;
	if (iso_plan_print(&run->plan, &text, err) < 0)
		return -1;
	digest(text, result->plan_sha256);
	return 0;
}

/* Fill the result with what a launched run was and left. */
static void keep(struct iso_run *run)
{
	const struct iso_ending *ending = &run->supervision.ending;
	const struct iso_world *world = &run->plan.world;
	struct iso_result *result = run->result;
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
	iso_classify(&run->plan, ending, &result->usage, &result->outcome);
	if (ending->setup_timed_out || ending->left_behind)
		iso_stuck_explain(world, &run->cgroup, ending->left_behind, &result->outcome.error);
	result->survivors_killed = ending->survivors_killed;
	result->cgroup_mode = run->cgroup.mode;
	result->elapsed_us = (ending->ended_mono_ns - run->supervision.started_mono_ns) / 1000;
	iso_capture_keep(run->streams, &run->plan.command.streams, result);
	iso_looks_after(&run->looks, world->protected_paths.items, result);
}

/* A child that hangs in its set-up and cannot be killed still reads our memory: it is given to
 * it. */
static bool is_read_for_ever(const struct iso_run *run)
{
	return run->supervision.ending.left_behind && !run->supervision.ending.started;
}

/* Everything but the cgroup. */
static void release(struct iso_run *run)
{
	iso_supervise_done(&run->supervision);
	for (int i = 0; i < 2; i++)
		iso_stream_done(&run->streams[i]);
	if (!is_read_for_ever(run)) {
		iso_prepared_done(&run->prepared);
		iso_plan_done(&run->plan);
	}
	iso_process_close(&run->process);
	iso_payload_ids_give_back(&run->station->launcher, &run->ids,
				  !run->supervision.ending.left_behind);
	iso_looks_done(&run->looks);
	iso_template_cache_want(&run->station->launcher.templates);
}

/* The run is over, but something of it is not; the first hint is the one to keep. */
static void note_left(const struct iso_run *run, const struct iso_error *left)
{
	if (run->result->outcome.error.hint[0] == '\0')
		iso_error_hint(&run->result->outcome.error, "left behind: %s", left->message);
}

/* Whoever looks at the descriptor before it takes the result finds it readable, from now on. */
static void set_ended(struct iso_run *run)
{
	run->state = STATE_ENDED;
	iso_watch_want(&run->watch, 0, run->station->ready_fd, EPOLLIN);
	iso_watch_arm(&run->watch, ISO_NEVER);
}

/* What was left behind has been waited for. */
static int64_t remove_deadline(const struct iso_run *run)
{
	return iso_deadline_after(iso_clock_mono_ns(),
				  run->supervision.ending.left_behind ? 0 : REMOVE_LIMIT_MS);
}

/* Try to remove the cgroup; a killed member may take a moment to leave it. */
static void remove_cgroup(struct iso_run *run)
{
	int64_t now = iso_clock_mono_ns();
	struct iso_error left = {0};
	if (iso_cgroup_try_remove(&run->cgroup) < 0) {
		if (errno == EBUSY && now < run->remove_deadline_ns) {
			run->state = STATE_REMOVING;
			iso_watch_arm(&run->watch, now + REMOVE_RETRY_NS);
			return;
		}
		iso_cgroup_give_up(&run->cgroup);
		(void)iso_cgroup_remove(&run->cgroup, now, &left);
		note_left(run, &left);
	}
	set_ended(run);
}

static void end(struct iso_run *run)
{
	iso_watch_clear(&run->watch);
	release(run);
	run->remove_deadline_ns = remove_deadline(run);
	remove_cgroup(run);
}

/* Which signal made us give up; what is no signal is a wish to end all the same. */
static int first_end_wanted(const struct iso_run *run)
{
	struct iso_inbox_signals cancels;
	int number = SIGTERM;
	iso_inbox_open(&cancels, run->request.cancel_fd);
	while (iso_inbox_signal(&cancels, &number) &&
	       (number == SIGWINCH || number == SIGUSR1 || number == SIGUSR2))
		;
	return number >= 1 && number <= SIGRTMAX ? number : SIGTERM;
}

/* It was refused, or could not be launched. */
static void end_early(struct iso_run *run, const struct iso_error *refused)
{
	if (refused->os_errno == ECANCELED)
		iso_classify_cancelled_early(first_end_wanted(run), &run->result->outcome);
	else
		iso_classify_refused(refused, &run->result->outcome);
	struct iso_error left = {0};
	release(run);
	if (run->supervision.ending.left_behind)
		iso_cgroup_give_up(&run->cgroup);
	if (iso_cgroup_remove(&run->cgroup, remove_deadline(run), &left) < 0)
		note_left(run, &left);
	run->state = STATE_ENDED;
}

static int start(struct iso_run *run, struct iso_error *err)
{
	struct iso_error refused = {0};
	const struct iso_request *request = &run->request;
	if (note_request(run, err) < 0)
		return -1;
	if (iso_station_build_plan(run->station, request, &run->plan, &refused) < 0) {
		end_early(run, &refused);
		return 0;
	}
	if (note_plan(run, err) < 0)
		return -1;
	int status = look_before(run, &refused);
	run->supervision.started_mono_ns = iso_clock_mono_ns(); /* looking is not its time */
	if (status < 0 || launch(run, &refused) < 0)
		end_early(run, &refused);
	else
		watch(run);
	return 0;
}

static struct iso_run *new_run(iso_station *station)
{
	struct iso_run *run = malloc(sizeof(*run));
	if (run == NULL)
		return NULL;
	*run = (struct iso_run){
		.station = iso_station_hold(station),
		.streams = {{.read_fd = -1, .write_fd = -1, .outlet = {.fd = -1}},
			    {.read_fd = -1, .write_fd = -1, .outlet = {.fd = -1}}},
		.ids = {.block = ISO_ID_BLOCK_NONE},
		.process = {.pidfd = -1},
		.watch = {.fd = -1},
		.supervision = {.terminal = {.master_fd = -1, .input_fd = -1}},
		.looks = {.workspace_fd = -1},
	};
	return run;
}

/* A program's request, in our shape; what is wrong with that is the run's end. */
static int start_reading(struct iso_run *run, const struct iso_request *given,
			 struct iso_error *err)
{
	struct iso_request_read read = {0};
	struct iso_error refused = {0};
	if (iso_result_new(&run->result, err) < 0)
		return -1;
	if (iso_request_read(given, &read, &refused) < 0) {
		end_early(run, &refused);
		return 0;
	}
	run->request = read.request;
	int status = start(run, err);
	iso_request_read_done(&read);
	return status;
}

int iso_run_start(iso_station *station, const struct iso_request *request, iso_run **ret_run,
		  struct iso_error *err)
{
	struct iso_run *run = new_run(station);
	if (run == NULL)
		return iso_error_nomem(err);
	if (start_reading(run, request, err) < 0) {
		release(run);
		run->state = STATE_ENDED;
		iso_run_free(run);
		return -1;
	}
	/* One that has ended already is waited for like any other. */
	if (run->state == STATE_ENDED && run->watch.fd < 0 &&
	    iso_watch_open(&run->watch, err) < 0) {
		iso_run_free(run);
		return -1;
	}
	if (run->state == STATE_ENDED)
		set_ended(run);
	*ret_run = run;
	return 0;
}

int iso_run_poll_fd(const iso_run *run)
{
	return run->watch.fd;
}

static bool step(struct iso_run *run, bool wait)
{
	switch (run->state) {
	case STATE_WATCHED:
		if (iso_supervise_step(&run->supervision, wait))
			return true;
		keep(run);
		end(run);
		break;
	case STATE_REMOVING:
		iso_watch_collect(&run->watch, wait);
		remove_cgroup(run);
		break;
	case STATE_ENDED:
		break;
	}
	return run->state != STATE_ENDED;
}

bool iso_run_step(iso_run *run)
{
	return step(run, false);
}

void iso_run_cancel(iso_run *run, int signal_number)
{
	if (run->state == STATE_WATCHED)
		iso_supervise_cancel(&run->supervision, signal_number);
}

void iso_run_progress_sized(const iso_run *run, struct iso_progress *ret_progress,
			    size_t struct_size)
{
	struct iso_progress progress = {.memory_bytes = ISO_UNKNOWN, .process_count = ISO_UNKNOWN};
	if (run->state == STATE_WATCHED)
		iso_supervise_look(&run->supervision, &progress);
	iso_sized_write(ret_progress, struct_size, &progress, sizeof(progress));
}

int iso_run_take_result(iso_run *run, iso_result **ret_result, struct iso_error *err)
{
	if (run->state != STATE_ENDED)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "take a result: the run goes on");
	if (run->result == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "take a result: it has been taken");
	*ret_result = run->result;
	run->result = NULL;
	return 0;
}

void iso_run_free(iso_run *run)
{
	if (run == NULL)
		return;
	if (run->state == STATE_WATCHED)
		iso_supervise_kill(&run->supervision);
	while (step(run, true))
		;
	iso_watch_close(&run->watch);
	iso_result_free(run->result);
	iso_station_drop(run->station);
	if (!is_read_for_ever(run))
		free(run);
}

int iso_run_to_end(iso_station *station, const struct iso_request *request, iso_result **ret_result,
		   struct iso_error *err)
{
	iso_run *run;
	if (iso_run_start(station, request, &run, err) < 0)
		return -1;
	while (step(run, true))
		;
	int status = iso_run_take_result(run, ret_result, err);
	iso_run_free(run);
	return status;
}
