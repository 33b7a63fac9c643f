/*
 * libisorun: run one command isolated, limited, drained and receipted.
 *
 *	struct iso_error err = {0};
 *	iso_engine *engine = NULL;
 *	iso_result *result = NULL;
 *	struct iso_request request;
 *	const char *argv[] = {"make", "test", NULL};
 *
 *	iso_request_init(&request);
 *	request.argv = argv;
 *	request.workspace = "/src/project";
 *	if (iso_engine_new(&engine, &err) == 0 &&
 *	    iso_engine_run(engine, &request, &result, &err) == 0)
 *		printf("exit code %d\n", iso_result_exit_code(result));
 *	iso_result_free(result);
 *	iso_engine_free(engine);
 *
 * That blocks. A host that waits for many things at once takes a station and steps its runs:
 *
 *	iso_run_start(station, &request, &run, &err);
 *	…when poll(2) says that iso_run_poll_fd(run) is readable:
 *	if (!iso_run_step(run))
 *		iso_run_take_result(run, &result, &err);
 *
 * Conventions: functions return 0, or -1 with `err` filled; outputs are named `ret_…`, come last
 * but for `err`, and are untouched on failure. The library has no global state, installs no signal
 * handlers, registers nothing at exit and changes neither working directory nor umask. While it
 * writes, it blocks SIGPIPE and SIGXFSZ in the calling thread.
 *
 * Structures that may get more members start with their size, which the macro that initialises them
 * fills in from the header that the program was compiled with: a library that is newer leaves alone
 * what that program does not have, one that is older refuses what it does not know. All other
 * structures are as they are for good.
 */
#ifndef ISORUN_H
#define ISORUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISORUN_VERSION "0.1.0"

/* What kind of failure an error is. */
enum iso_code {
	ISO_OK = 0,
	ISO_ERR_INVALID,     /* the request is wrong; nothing was tried */
	ISO_ERR_DENIED,	     /* the request is refused by policy */
	ISO_ERR_UNSUPPORTED, /* this host lacks what is needed */
	ISO_ERR_SYSTEM,	     /* a system call failed; `os_errno` says how */
	ISO_ERR_NOMEM,	     /* out of memory */
	ISO_ERR_LAUNCH,	     /* the isolation could not be set up; the command did not run */
	ISO_ERR_INTERNAL,    /* a broken invariant of isorun itself */
};

/* What an error is about; the word in front of a receipt's "error". */
enum iso_class {
	ISO_CLASS_NONE = 0,
	ISO_CLASS_INVALID,
	ISO_CLASS_DENIED,
	ISO_CLASS_LAUNCH_FAILED,
	ISO_CLASS_COMMAND_NOT_FOUND,
	ISO_CLASS_COMMAND_NOT_EXECUTABLE,
	ISO_CLASS_COMMAND_FAILED,
	ISO_CLASS_COMMAND_SIGNALED,
	ISO_CLASS_TIMEOUT,
	ISO_CLASS_MEMORY_LIMIT,
	ISO_CLASS_CANCELLED,
	ISO_CLASS_OUTPUT_LOST,
	ISO_CLASS_TOOL_FAILED,
	ISO_CLASS_INTERNAL_ERROR,
};

struct iso_error {
	enum iso_code code;
	int os_errno;	   /* errno value, or 0 */
	char message[512]; /* "attempt "object": reason", lower case, no full stop */
	char hint[512];	   /* what the operator can do, or "" */
};

/* How a run ended; the words of the receipt's "status". */
enum iso_status {
	ISO_STATUS_UNSET = 0,
	ISO_STATUS_COMPLETED,	   /* exit code 0 */
	ISO_STATUS_FAILED,	   /* exit code 1 to 255 */
	ISO_STATUS_SIGNALED,	   /* ended by a signal */
	ISO_STATUS_TIMED_OUT,	   /* the wall limit passed */
	ISO_STATUS_MEMORY_LIMIT,   /* the kernel killed it for memory */
	ISO_STATUS_CANCELLED,	   /* the caller asked for the end */
	ISO_STATUS_DENIED,	   /* refused by policy; nothing ran */
	ISO_STATUS_INVALID,	   /* the request was wrong; nothing ran */
	ISO_STATUS_LAUNCH_FAILED,  /* the isolation or the exec failed; the command did not run */
	ISO_STATUS_INTERNAL_ERROR, /* isorun itself failed */
};

/* What happens to descendants that still run when the command has ended. */
enum iso_detached {
	ISO_DETACHED_KILL = 0, /* kill and count them at once */
	ISO_DETACHED_WAIT,     /* the run lasts until they have ended, or its wall limit */
};

/* Which part of a stream is kept. */
enum iso_keep {
	ISO_KEEP_HEAD = 0,
	ISO_KEEP_TAIL,
};

enum iso_mount_kind {
	ISO_MOUNT_UNSET = 0,
	ISO_MOUNT_RO,	 /* bind `source` at `target`, recursively read-only */
	ISO_MOUNT_RW,	 /* bind `source` at `target`, writable, its owner mapped to the payload */
	ISO_MOUNT_TMPFS, /* an empty tmpfs of `size_bytes` at `target` */
	ISO_MOUNT_HIDE,	 /* cover `target` with an unreadable nothing */
	ISO_MOUNT_PROTECT, /* `target` in the workspace is read-only; where nothing is there,
			    * its creation is reported as sensitive */
};

struct iso_mount {
	enum iso_mount_kind kind;
	const char *source;  /* absolute host path; RO and RW only */
	const char *target;  /* absolute path inside; NULL: the same as `source` */
	uint64_t size_bytes; /* TMPFS only; 0: the request's `tmp_size_bytes` */
};

/* "Use the documented default", for members that accept it. */
#define ISO_DEFAULT UINT64_MAX

/* "No limit", for members that accept it. */
#define ISO_UNLIMITED (UINT64_MAX - 1)

/* A look at a run that goes on. Members may be added at its end: see iso_run_progress. */
struct iso_progress {
	uint64_t elapsed_ms;
	uint64_t memory_bytes;	/* UINT64_MAX: not known */
	uint64_t process_count; /* of the payload; UINT64_MAX: not known */
	bool midline[2]; /* what was passed through to `stdout_fd` and `stderr_fd` ends in a line
			  * that is not complete */
};

/*
 * One execution. Pointers are borrowed until iso_engine_run or iso_run_start returns, descriptors
 * and `progress_data` until the run has ended. Start from iso_request_init, so that members added
 * later have their defaults.
 */
struct iso_request {
	size_t struct_size,
		mount_size;	 /* iso_request_init sets them; of this and struct iso_mount */
	const char *const *argv; /* NULL-terminated, at least one; argv[0] is looked up in PATH */
	const char *workspace; /* host directory, bound at its own path; NULL: current directory */
	const char *workdir;   /* inside the allowed root; NULL: the workspace */
	bool workspace_read_only;
	const char *rootfs; /* directory used as root; NULL: the host's system directories */
	const struct iso_mount *mounts;
	size_t mount_count;
	const char *const
		*env;	      /* "NAME=VALUE", NULL-terminated; NULL: none beyond the fixed ones */
	const char *hostname; /* 1 to 64 bytes; NULL: "isorun" */
	uint64_t uid, gid;    /* ids seen inside, 0 to 2^32-2; ISO_DEFAULT */
	uint64_t memory_max_bytes; /* at least 1 MiB; ISO_DEFAULT: min(2 GiB, half the machine) */
	uint64_t pids_max_count;   /* at least 1; ISO_DEFAULT: 1024 */
	uint64_t cpu_max_millis;   /* thousandths of a CPU; ISO_UNLIMITED (default) */
	uint64_t wall_limit_ms;	   /* at least 1; ISO_UNLIMITED (default) */
	uint64_t grace_ms;	   /* from TERM to KILL; 0: kill at once; ISO_DEFAULT: 2000 */
	uint64_t nofile_max_count; /* open files per process; ISO_DEFAULT: 1024 soft, 65536 hard */
	uint64_t fsize_max_bytes;  /* largest file a process can write; ISO_UNLIMITED (default) */
	uint64_t tmp_size_bytes;   /* /tmp; ISO_DEFAULT: 512 MiB */
	enum iso_detached detached;
	bool cgroup_optional;	  /* run without limits where cgroups cannot be had, and say so */
	int stdin_fd;		  /* -1: /dev/null */
	int stdout_fd, stderr_fd; /* where output is passed through live; -1: nowhere */
	bool tty; /* a pseudo-terminal of its own for the payload: its output is `stdout_fd`'s,
		   * its input what can be read from `stdin_fd` */
	uint16_t tty_rows, tty_columns; /* its size; 0: 24 and 80 */
	int cancel_fd; /* readable means cancel: a signalfd, or a pipe carrying uint32_t signal
			* numbers, which the payload then receives; SIGWINCH does not cancel but
			* takes the size of the terminal at `stdin_fd` over; what one run has read
			* no other sees; -1: none */
	/* For those who show that something goes on: called in the thread of iso_engine_run,
	 * iso_run_step, iso_run_cancel or iso_run_free, about once a second with a `progress`, and
	 * with NULL before output is passed through and when the run has ended. NULL: no need. */
	void (*on_progress)(void *data, const struct iso_progress *progress);
	void *progress_data;
	uint64_t capabilities;	     /* bit N: Linux capability N, in the payload's own user
				      * namespace; 0 (default): none */
	const char *seccomp_profile; /* JSON file with a system call filter that is loaded behind
				      * the default one and can only narrow it; NULL: none */
	bool diff;		     /* find out what changed in the workspace */
	bool capture;		     /* retain and hash the output */
	uint64_t output_limit_bytes; /* retained per stream; ISO_DEFAULT: 16000 */
	uint64_t stderr_limit_bytes; /* of standard error; ISO_DEFAULT: the same */
	bool limit_characters;	     /* both limits count characters instead of bytes */
	bool merge_streams;	     /* standard error goes where standard output goes */
	enum iso_keep keep;
	int workspace_fd; /* the workspace, an open directory, for which `workspace` is only the
			   * caller's word then; -1: what that names */
};

/* A probed host with what is made once for all runs: where cgroups go, the init, mappings, mounts
 * that runs share, filters. Thread-safe. One for each process is enough; several do no harm. */
typedef struct iso_station iso_station;

/* One execution, from its start until its result is taken. For one thread at a time; any number of
 * them on one station, in any number of threads. */
typedef struct iso_run iso_run;

/* A station for those who wait for one run at a time in each thread. Thread-safe. */
typedef struct iso_engine iso_engine;

/* What one run left: status, counters, retained output. Owned by the caller. */
typedef struct iso_result iso_result;

/* Fill `request` with defaults: every field usable but `argv`, which must be set. */
#define iso_request_init(request) \
	iso_request_init_sized((request), sizeof(struct iso_request), sizeof(struct iso_mount))
void iso_request_init_sized(struct iso_request *ret_request, size_t struct_size, size_t mount_size);

/* Probe the host. Errors: ISO_ERR_UNSUPPORTED, ISO_ERR_SYSTEM, ISO_ERR_NOMEM. */
int iso_station_new(iso_station **ret_station, struct iso_error *err);

/* Give a station up; NULL is fine. Its runs may still go on: the last of them releases it. What
 * killed isoruns have left in its part of the cgroup tree goes then, and a process that was moved
 * into a leaf for its stations is moved back with the last of these. */
void iso_station_free(iso_station *station);

/* The plan that a run of `request` would execute, as JSON text that the caller frees. Nothing
 * runs. Errors: as the run would end. Thread-safe. */
int iso_station_plan(iso_station *station, const struct iso_request *request, char **ret_json,
		     struct iso_error *err);

/*
 * Start a run. Every request gets one, also one that is refused: it has ended then, with a result
 * that says why. Returns -1 only when not even a run could be made (ISO_ERR_NOMEM, ISO_ERR_SYSTEM).
 *
 * This takes as long as setting a sandbox up, about a millisecond, and with `diff` as long as
 * looking at the workspace; the last step takes the second look.
 */
int iso_run_start(iso_station *station, const struct iso_request *request, iso_run **ret_run,
		  struct iso_error *err);

/* A descriptor that is readable when iso_run_step has something to do. It is for poll(2) and
 * epoll(7) only, and stays the run's own. */
int iso_run_poll_fd(const iso_run *run);

/* Do what there is to do, without waiting for anything. Returns whether the run goes on. To call it
 * too often does no harm; to call it too seldom slows the payload as a slow reader would, and makes
 * its deadlines late. */
bool iso_run_step(iso_run *run);

/*
 * End a run that goes on: its payload gets `signal_number` (1 to 64; SIGTERM for any other), and is
 * killed when the grace is over or at the second call. Signals that mean no end reach it as
 * SIGTERM. SIGUSR1 and SIGUSR2 are passed on and end nothing, nor does SIGWINCH: see `cancel_fd`.
 * The end comes as any other, by iso_run_step.
 */
void iso_run_cancel(iso_run *run, int signal_number);

/* How a run stands; of one that has ended nothing is known. */
#define iso_run_progress(run, progress) \
	iso_run_progress_sized((run), (progress), sizeof(struct iso_progress))
void iso_run_progress_sized(const iso_run *run, struct iso_progress *ret_progress,
			    size_t struct_size);

/* The result of a run that has ended, once. Errors: ISO_ERR_INVALID while it goes on, and when the
 * result has been taken. */
int iso_run_take_result(iso_run *run, iso_result **ret_result, struct iso_error *err);

/* Release a run; NULL is fine. One that goes on is killed and waited for, within bounds. */
void iso_run_free(iso_run *run);

/* Errors: as iso_station_new. */
int iso_engine_new(iso_engine **ret_engine, struct iso_error *err);

/* Release an engine that runs nothing; NULL is fine. */
void iso_engine_free(iso_engine *engine);

/*
 * Run `request` to its end and leave nothing behind.
 *
 * Returns 0 with a result for every request that could be answered, also one that was refused or
 * could not be launched (see iso_result_status), and -1 only when not even a result could be made
 * (out of memory). Blocks until the run has ended: at most its wall limit and grace, and a bounded
 * clean-up.
 */
int iso_engine_run(iso_engine *engine, const struct iso_request *request, iso_result **ret_result,
		   struct iso_error *err);

/*
 * The result of a request that never reached an engine: refused while it was read, or on a host
 * where no engine could be made. `reason` is copied.
 */
int iso_result_new_refused(const struct iso_error *reason, iso_result **ret_result,
			   struct iso_error *err);

/* As iso_station_plan. */
int iso_engine_plan(iso_engine *engine, const struct iso_request *request, char **ret_json,
		    struct iso_error *err);

enum iso_status iso_result_status(const iso_result *result);

/* The exit code of `isorun run`: the command's own, 128+N, 124, 125, 126 or 127. */
int iso_result_exit_code(const iso_result *result);

/* Why a run was not completed; NULL when it was. Owned by the result. */
const struct iso_error *iso_result_error(const iso_result *result);

/* What that is about; ISO_CLASS_NONE when it was completed. */
enum iso_class iso_result_class(const iso_result *result);

/* The word for a class, e.g. "CommandFailed"; "" for none. Static. */
const char *iso_class_name(enum iso_class error_class);

/* The receipt (docs/receipt.schema.json) as JSON text that the caller frees. */
int iso_result_receipt(const iso_result *result, char **ret_json, struct iso_error *err);

/* What changed in the workspace, a line each ("A path", "M path", "D path", with "!" and a reason
 * where later programs would obey it), as text that the caller frees; "" without a diff. Control
 * characters in names are escaped. */
int iso_result_diff_text(const iso_result *result, char **ret_text, struct iso_error *err);

/* Release a result; NULL is fine. */
void iso_result_free(iso_result *result);

/* The receipt's word for a status, e.g. "timed_out". Static. */
const char *iso_status_name(enum iso_status status);

/*
 * Remove the cgroups of runs whose isorun was killed (`isorun gc`), wherever this process may.
 *
 * ret_removed  how many runs were cleaned up
 *
 * Returns -1 with the first error when something had to be left behind.
 */
int iso_gc(uint64_t *ret_removed, struct iso_error *err);

/* Probe everything isorun needs (`isorun doctor`) and report it as JSON text that the caller frees;
 * `ret_usable` says whether a run would work. */
int iso_doctor(char **ret_json, bool *ret_usable, struct iso_error *err);

/*
 * Tool calls under a policy (`isorun exec`, `isorun bash`). A session holds what many calls share:
 * the policy, the audit log, the memory of call ids. Thread-safe: calls run at the same time.
 */
typedef struct iso_session iso_session;

/* All borrowed until iso_session_new returns, but for what says otherwise. */
struct iso_session_options {
	size_t struct_size;	/* iso_session_options_init sets it */
	const char *policy;	/* file; required */
	const char *authority;	/* "unix:PATH" of an external one for host.bash; NULL: built-in */
	const char *state_dir;	/* where call ids and tokens outlive this process; NULL: nowhere */
	const char *audit;	/* log file; NULL: none */
	const char *audit_key;	/* Ed25519 private key (PEM) that signs its lines; NULL: none */
	bool audit_no_sync;	/* do not wait until a line is on disk */
	const char *generation; /* which incarnation of the worker this is; NULL: made up */
	int cancel_fd;		/* as in struct iso_request, for calls one at a time; -1: none */
	iso_station *station;	/* outlives the session; NULL: one of its own, at the first run */
};

#define iso_session_options_init(options) \
	iso_session_options_init_sized((options), sizeof(struct iso_session_options))
void iso_session_options_init_sized(struct iso_session_options *ret_options, size_t struct_size);

/* Open a session. Errors: ISO_ERR_INVALID (policy, key), ISO_ERR_UNSUPPORTED, ISO_ERR_SYSTEM,
 * ISO_ERR_NOMEM. */
int iso_session_new(const struct iso_session_options *options, iso_session **ret_session,
		    struct iso_error *err);

/* Release a session in which no call runs; NULL is fine. */
void iso_session_free(iso_session *session);

/* One call of a tool. All borrowed until iso_session_call returns. */
struct iso_tool_call {
	size_t struct_size;    /* iso_tool_call_init sets it */
	const char *tool;      /* its name; required */
	const char *arguments; /* JSON text of an object, or NULL */
	const char *call_id;   /* the same id with the same call returns the first receipt and runs
			      * nothing again; NULL: none */
	int cancel_fd; /* as in struct iso_request, for this call instead of the session's; -1 */
};

#define iso_tool_call_init(call) iso_tool_call_init_sized((call), sizeof(struct iso_tool_call))
void iso_tool_call_init_sized(struct iso_tool_call *ret_call, size_t struct_size);

/*
 * Call a tool. Every call, also a refused one, ends in one receipt and, where there is a log, in
 * one line of it.
 *
 * Returns 0 with the receipt as JSON text that the caller frees, and the exit code that `isorun
 * exec` has for it; -1 only when not even a receipt could be made.
 */
int iso_session_call(iso_session *session, const struct iso_tool_call *call, char **ret_receipt,
		     int *ret_exit_code, struct iso_error *err);

/* What the policy says of a call, for people (`isorun explain`); nothing runs. The caller frees. */
int iso_session_explain(iso_session *session, const char *tool, const char *arguments,
			char **ret_text, bool *ret_allowed, struct iso_error *err);

/* The tools that the policy makes available, as a JSON array of {name, description, inputSchema}
 * that the caller frees. */
int iso_session_tools(iso_session *session, char **ret_json, struct iso_error *err);

#ifdef __cplusplus
}
#endif

#endif
