/*
 * The order decides: isorun's own failures first, then what the caller or a limit did, then what
 * the payload did. A limit that was hit on the way is added to the reason of a failure.
 */
#include "sandbox/watch/classify.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "sandbox/watch/report.h"

#define EXIT_TIMED_OUT	    124
#define EXIT_ISORUN_FAILED  125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND	    127
#define EXIT_SIGNAL_BASE    128

/* The standard signals of Linux on most architectures; signal(7). */
static const char *const signal_names[] = {
	[SIGHUP] = "SIGHUP",	   [SIGINT] = "SIGINT",	      [SIGQUIT] = "SIGQUIT",
	[SIGILL] = "SIGILL",	   [SIGTRAP] = "SIGTRAP",     [SIGABRT] = "SIGABRT",
	[SIGBUS] = "SIGBUS",	   [SIGFPE] = "SIGFPE",	      [SIGKILL] = "SIGKILL",
	[SIGUSR1] = "SIGUSR1",	   [SIGSEGV] = "SIGSEGV",     [SIGUSR2] = "SIGUSR2",
	[SIGPIPE] = "SIGPIPE",	   [SIGALRM] = "SIGALRM",     [SIGTERM] = "SIGTERM",
	[SIGSTKFLT] = "SIGSTKFLT", [SIGCHLD] = "SIGCHLD",     [SIGCONT] = "SIGCONT",
	[SIGSTOP] = "SIGSTOP",	   [SIGTSTP] = "SIGTSTP",     [SIGTTIN] = "SIGTTIN",
	[SIGTTOU] = "SIGTTOU",	   [SIGURG] = "SIGURG",	      [SIGXCPU] = "SIGXCPU",
	[SIGXFSZ] = "SIGXFSZ",	   [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF",
	[SIGWINCH] = "SIGWINCH",   [SIGIO] = "SIGIO",	      [SIGPWR] = "SIGPWR",
	[SIGSYS] = "SIGSYS",
};

void iso_signal_name(int number, char ret_name[ISO_SIGNAL_NAME_SIZE])
{
	size_t count = ISO_COUNT(signal_names);
	if (number > 0 && (size_t)number < count && signal_names[number] != NULL)
		snprintf(ret_name, ISO_SIGNAL_NAME_SIZE, "%s", signal_names[number]);
	else
		snprintf(ret_name, ISO_SIGNAL_NAME_SIZE, "SIG%d", number);
}

static void set(struct iso_outcome *outcome, enum iso_status status, int exit_code,
		enum iso_class error_class)
{
	outcome->status = status;
	outcome->exit_code = exit_code;
	outcome->error_class = error_class;
}

static void classify_launch_failure(const struct iso_plan *plan, const struct iso_record *record,
				    struct iso_outcome *outcome)
{
	iso_report_failure(plan, record, &outcome->error);
	int code = EXIT_ISORUN_FAILED;
	enum iso_class error_class = ISO_CLASS_LAUNCH_FAILED;
	if (record->step == ISO_STEP_EXEC) {
		bool missing = record->value == ENOENT || record->value == ENOTDIR;
		code = missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
		error_class =
			missing ? ISO_CLASS_COMMAND_NOT_FOUND : ISO_CLASS_COMMAND_NOT_EXECUTABLE;
	}
	set(outcome, ISO_STATUS_LAUNCH_FAILED, code, error_class);
}

static void fail_internally(struct iso_outcome *outcome, const char *reason)
{
	set(outcome, ISO_STATUS_INTERNAL_ERROR, EXIT_ISORUN_FAILED, ISO_CLASS_INTERNAL_ERROR);
	iso_error_set(&outcome->error, ISO_ERR_INTERNAL, 0, "%s", reason);
}

static void classify_payload(const struct iso_plan *plan, const struct iso_cgroup_usage *usage,
			     struct iso_outcome *outcome)
{
	char limit_note[96] = "";
	if (usage->pids_limit_hits != ISO_UNKNOWN && usage->pids_limit_hits > 0)
		snprintf(limit_note, sizeof(limit_note),
			 " (the limit of %" PRIu64 " processes was hit %" PRIu64 " times)",
			 plan->world.limits.pids_max_count, usage->pids_limit_hits);
	if (outcome->payload_signal != 0) {
		char name[ISO_SIGNAL_NAME_SIZE];
		iso_signal_name(outcome->payload_signal, name);
		set(outcome, ISO_STATUS_SIGNALED, EXIT_SIGNAL_BASE + outcome->payload_signal,
		    ISO_CLASS_COMMAND_SIGNALED);
		iso_error_set(&outcome->error, ISO_ERR_SYSTEM, 0, "Command killed by %s%s%s", name,
			      outcome->payload_signal == SIGSYS
				      ? ": the seccomp filter refused a system call"
				      : "",
			      limit_note);
	} else if (outcome->payload_exit != 0) {
		set(outcome, ISO_STATUS_FAILED, outcome->payload_exit, ISO_CLASS_COMMAND_FAILED);
		iso_error_set(&outcome->error, ISO_ERR_SYSTEM, 0, "Command exited %d%s",
			      outcome->payload_exit, limit_note);
	} else {
		set(outcome, ISO_STATUS_COMPLETED, 0, ISO_CLASS_NONE);
	}
}

static void set_payload_end(const struct iso_ending *ending, struct iso_outcome *outcome)
{
	outcome->payload_exit = -1;
	if (!ending->exited)
		return;
	if (WIFEXITED(ending->wait_status))
		outcome->payload_exit = WEXITSTATUS(ending->wait_status);
	else if (WIFSIGNALED(ending->wait_status))
		outcome->payload_signal = WTERMSIG(ending->wait_status);
}

/* Which limit it was: the run's own, one of a cgroup above, or the machine's end. */
static void explain_memory(const struct iso_plan *plan, const struct iso_cgroup_usage *usage,
			   struct iso_error *err)
{
	if (!usage->killed_from_above) {
		iso_error_set(err, ISO_ERR_SYSTEM, 0,
			      "Command exceeded its memory limit of %" PRIu64 " bytes",
			      plan->world.limits.memory_max_bytes);
	} else if (usage->limit_above_bytes != ISO_UNLIMITED) {
		iso_error_set(err, ISO_ERR_SYSTEM, 0,
			      "Command was killed for a memory limit above its own: %" PRIu64
			      " bytes for all in a cgroup that isorun is in",
			      usage->limit_above_bytes);
		iso_error_hint(err, "give it a smaller limit (--memory), or that cgroup a larger "
				    "one");
	} else {
		iso_error_set(err, ISO_ERR_SYSTEM, 0,
			      "Command was killed because the machine ran out of memory");
	}
}

static void classify_cancelled(int signal_number, const char *what, struct iso_outcome *outcome)
{
	char name[ISO_SIGNAL_NAME_SIZE];
	iso_signal_name(signal_number, name);
	set(outcome, ISO_STATUS_CANCELLED, EXIT_SIGNAL_BASE + signal_number, ISO_CLASS_CANCELLED);
	iso_error_set(&outcome->error, ISO_ERR_SYSTEM, 0, "received %s, %s", name, what);
}

void iso_classify_cancelled_early(int signal_number, struct iso_outcome *ret_outcome)
{
	*ret_outcome = (struct iso_outcome){.payload_exit = -1};
	classify_cancelled(signal_number, "before the command was started", ret_outcome);
}

void iso_classify(const struct iso_plan *plan, const struct iso_ending *ending,
		  const struct iso_cgroup_usage *usage, struct iso_outcome *ret_outcome)
{
	struct iso_outcome *outcome = ret_outcome;
	*outcome = (struct iso_outcome){0};
	set_payload_end(ending, outcome);
	bool out_of_memory =
		ending->oom_seen || (usage->oom_kills != ISO_UNKNOWN && usage->oom_kills > 0);

	if (ending->failure.type == ISO_RECORD_FAILED) {
		classify_launch_failure(plan, &ending->failure, outcome);
	} else if (out_of_memory) {
		set(outcome, ISO_STATUS_MEMORY_LIMIT, EXIT_SIGNAL_BASE + SIGKILL,
		    ISO_CLASS_MEMORY_LIMIT);
		explain_memory(plan, usage, &outcome->error);
	} else if (ending->setup_timed_out) {
		set(outcome, ISO_STATUS_LAUNCH_FAILED, EXIT_ISORUN_FAILED, ISO_CLASS_LAUNCH_FAILED);
		iso_report_hang(plan, ending->setup_at, &outcome->error);
	} else if (ending->cancel_signal != 0) {
		classify_cancelled(ending->cancel_signal, "which ended the command", outcome);
	} else if (ending->deadline_passed) {
		set(outcome, ISO_STATUS_TIMED_OUT, EXIT_TIMED_OUT, ISO_CLASS_TIMEOUT);
		iso_error_set(&outcome->error, ISO_ERR_SYSTEM, 0,
			      "Command exceeded its wall limit of %" PRIu64 " ms",
			      plan->command.limits.wall_ms);
	} else if (!ending->started) {
		set(outcome, ISO_STATUS_LAUNCH_FAILED, EXIT_ISORUN_FAILED, ISO_CLASS_LAUNCH_FAILED);
		iso_error_set(&outcome->error, ISO_ERR_LAUNCH, 0,
			      "the set-up process ended without a word");
	} else if (!ending->exited) {
		fail_internally(outcome, "the sandbox's init was killed from outside");
	} else {
		classify_payload(plan, usage, outcome);
	}
}

void iso_classify_refused(const struct iso_error *reason, struct iso_outcome *ret_outcome)
{
	*ret_outcome = (struct iso_outcome){.payload_exit = -1, .error = *reason};
	switch (reason->code) {
	case ISO_ERR_INVALID:
		set(ret_outcome, ISO_STATUS_INVALID, EXIT_ISORUN_FAILED, ISO_CLASS_INVALID);
		break;
	case ISO_ERR_DENIED:
		set(ret_outcome, ISO_STATUS_DENIED, EXIT_ISORUN_FAILED, ISO_CLASS_DENIED);
		break;
	case ISO_ERR_INTERNAL:
	case ISO_ERR_NOMEM:
		set(ret_outcome, ISO_STATUS_INTERNAL_ERROR, EXIT_ISORUN_FAILED,
		    ISO_CLASS_INTERNAL_ERROR);
		break;
	default:
		set(ret_outcome, ISO_STATUS_LAUNCH_FAILED, EXIT_ISORUN_FAILED,
		    ISO_CLASS_LAUNCH_FAILED);
		break;
	}
}
