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
 * Conventions: functions return 0, or -1 with `err` filled; outputs are named `ret_…`, come last
 * but for `err`, and are untouched on failure. The library has no global state, installs no signal
 * handlers, registers nothing at exit and changes neither working directory nor umask. Where
 * it writes to a pipe whose reader may be gone, it blocks SIGPIPE in the calling thread meanwhile.
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

/* A look at a run that goes on. */
struct iso_progress {
	uint64_t elapsed_ms;
	uint64_t memory_bytes;	/* UINT64_MAX: not known */
	uint64_t process_count; /* of the payload; UINT64_MAX: not known */
	bool midline[2]; /* what was passed through to `stdout_fd` and `stderr_fd` ends in a line
			  * that is not complete */
};

/*
 * One execution. Every pointer and descriptor is borrowed until iso_engine_run returns. Start from
 * iso_request_init, so that members added later have their defaults.
 */
struct iso_request {
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
			* takes the size of the terminal at `stdin_fd` over; -1: none */
	/* Called in the thread of iso_engine_run, for those who show that something goes on: about
	 * once a second with a `progress`, and with NULL before output is passed through and when
	 * the run has ended. NULL: no need. */
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
};

/* A probed host with what is made once for all runs. One run at a time per engine; any number of
 * engines per process and thread. */
typedef struct iso_engine iso_engine;

/* What one run left: status, counters, retained output. Owned by the caller. */
typedef struct iso_result iso_result;

/* Fill `ret_request` with defaults: every field usable but `argv`, which must be set. */
void iso_request_init(struct iso_request *ret_request);

/* Probe the host. Errors: ISO_ERR_UNSUPPORTED, ISO_ERR_SYSTEM, ISO_ERR_NOMEM. */
int iso_engine_new(iso_engine **ret_engine, struct iso_error *err);

/* Release an engine; NULL is fine. */
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

/* The plan that iso_engine_run would execute, as JSON text that the caller frees. Nothing runs. */
int iso_engine_plan(iso_engine *engine, const struct iso_request *request, char **ret_json,
		    struct iso_error *err);

enum iso_status iso_result_status(const iso_result *result);

/* The exit code of `isorun run`: the command's own, 128+N, 124, 125, 126 or 127. */
int iso_result_exit_code(const iso_result *result);

/* Why a run was not completed; NULL when it was. Owned by the result. */
const struct iso_error *iso_result_error(const iso_result *result);

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

/* All borrowed until iso_session_new returns. */
struct iso_session_options {
	const char *policy;	/* file; required */
	const char *authority;	/* "unix:PATH" of an external one for host.bash; NULL: built-in */
	const char *state_dir;	/* where call ids and tokens outlive this process; NULL: nowhere */
	const char *audit;	/* log file; NULL: none */
	const char *audit_key;	/* Ed25519 private key (PEM) that signs its lines; NULL: none */
	bool audit_no_sync;	/* do not wait until a line is on disk */
	const char *generation; /* which incarnation of the worker this is; NULL: made up */
	int cancel_fd;		/* as in struct iso_request, for every call; -1: none */
};

void iso_session_options_init(struct iso_session_options *ret_options);

/* Open a session. Errors: ISO_ERR_INVALID (policy, key), ISO_ERR_UNSUPPORTED, ISO_ERR_SYSTEM,
 * ISO_ERR_NOMEM. */
int iso_session_new(const struct iso_session_options *options, iso_session **ret_session,
		    struct iso_error *err);

/* Release a session in which no call runs; NULL is fine. */
void iso_session_free(iso_session *session);

/*
 * Call a tool. Every call, also a refused one, ends in one receipt and, where there is a log, in
 * one line of it.
 *
 * arguments  JSON text of an object, or NULL
 * call_id    the same id with the same call returns the first receipt and runs nothing again;
 * 	      NULL: none
 *
 * Returns 0 with the receipt as JSON text that the caller frees, and the exit code that `isorun
 * exec` has for it; -1 only when not even a receipt could be made.
 */
int iso_session_call(iso_session *session, const char *tool, const char *arguments,
		     const char *call_id, char **ret_receipt, int *ret_exit_code,
		     struct iso_error *err);

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
