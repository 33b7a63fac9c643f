/* What a session is made of, for the files that run its tools. */
#ifndef ISORUN_CALLS_SESSION_H
#define ISORUN_CALLS_SESSION_H

#include <pthread.h>

#include "policy/capability.h"
#include "policy/evaluate.h"
#include "policy/tools.h"
#include "runner/authority/authority.h"
#include "runner/calls/memory.h"
#include "runner/grant/policy_load.h"
#include "runner/ledger/ledger.h"

struct iso_session {
	struct iso_loaded_policy loaded;
	struct iso_builtin_authority builtin;
	struct iso_authority authority;
	char *authority_path; /* owned; socket of an external authority, or NULL */
	struct iso_call_memory memory;
	struct iso_ledger ledger;
	char *generation; /* owned */
	int cancel_fd;	  /* borrowed */

	pthread_mutex_t lock; /* of what follows; never held while anything waits */
	struct iso_replay_window replay;
	iso_station *station; /* NULL until the first run needs one */
	bool owns_station;
};

/* A call that was read, judged and allowed: what its tool is given. */
struct iso_performance {
	iso_session *session;		     /* borrowed */
	const struct iso_call *call;	     /* borrowed */
	const struct iso_decision *decision; /* borrowed */
	const char *workdir; /* borrowed; host.bash: the canonical directory that was judged */
	int cancel_fd;	     /* borrowed */
};

/*
 * Run the tool of an allowed call. What goes wrong with the tool is in the result; -1 only when
 * memory is out.
 *
 * iso_perform           any, by the table of tools
 * iso_perform_files     filesystem.read, .list and .write
 * iso_perform_command   shell.exec
 * iso_perform_git_diff  git.diff
 * iso_perform_bash      host.bash
 */
int iso_perform(const struct iso_performance *performance, iso_result **ret_result,
		struct iso_error *err);
int iso_perform_files(const struct iso_performance *performance, iso_result **ret_result,
		      struct iso_error *err);
int iso_perform_command(const struct iso_performance *performance, iso_result **ret_result,
			struct iso_error *err);
int iso_perform_git_diff(const struct iso_performance *performance, iso_result **ret_result,
			 struct iso_error *err);
int iso_perform_bash(const struct iso_performance *performance, iso_result **ret_result,
		     struct iso_error *err);

/* Run a request in a world of the session's policy: what that says is added to it. */
int iso_session_execute(const struct iso_performance *performance, struct iso_request *request,
			iso_result **ret_result, struct iso_error *err);

#endif
