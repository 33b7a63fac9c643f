/* What a session is made of, for the files that run its tools. */
#ifndef ISORUN_CALLS_SESSION_H
#define ISORUN_CALLS_SESSION_H

#include <pthread.h>

#include "audit/log.h"
#include "policy/capability.h"
#include "runner/authority/authority.h"
#include "runner/calls/memory.h"
#include "runner/grant/policy_load.h"
#include "runner/engine/receipt.h"

#define ISO_IDLE_ENGINES 8

struct iso_session {
	struct iso_loaded_policy loaded;
	struct iso_builtin_authority builtin;
	struct iso_authority authority;
	char *authority_path; /* owned; socket of an external authority, or NULL */
	struct iso_call_memory memory;
	bool has_audit;
	struct iso_audit_log audit;
	char *generation;     /* owned */
	int cancel_fd;	      /* borrowed */
	pthread_mutex_t lock; /* of what follows, and of `audit` */
	struct iso_replay_window replay;
	iso_engine *idle[ISO_IDLE_ENGINES]; /* owned; engines that no call uses */
	size_t idle_count;
};

/*
 * Run the tool of an allowed call into `result`. What goes wrong with the tool is in the result; -1
 * only when memory is out.
 */
int iso_session_run_command(iso_session *session, const struct iso_call *call,
			    const struct iso_decision *decision, iso_result **result,
			    struct iso_error *err);
/* `workdir` is the canonical directory that was judged; it is freed here. */
int iso_session_run_bash(iso_session *session, const struct iso_call *call,
			 const struct iso_decision *decision, char *workdir, iso_result **result,
			 struct iso_error *err);

/* Run a request on an engine of the session, with what the policy says added to it. */
int iso_session_execute(iso_session *session, bool workspace_write, struct iso_request *request,
			iso_result **ret_result, struct iso_error *err);

#endif
