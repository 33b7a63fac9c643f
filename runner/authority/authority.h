/*
 * Who authorises host.bash: the authority, asked by JSON-RPC method name whether it lives in this
 * process or behind a Unix socket (CAP-8).
 *
 *	authorize_bash {binding}		the capability (CAP-2), or {"error"}
 *	consume_bash_authorization {token, …}	{"ok": true}, or {"ok": false, "error"}
 *	record_bash_result {…}			{"recorded": true}
 *	egress_check {command}			{"allowed": true}, or {"allowed": false, "error"}
 */
#ifndef ISORUN_AUTHORITY_AUTHORITY_H
#define ISORUN_AUTHORITY_AUTHORITY_H

#include <cjson/cJSON.h>
#include <pthread.h>

#include "runner/base/file/state_dir.h"
#include "runner/grant/policy_load.h"
#include "runner/wire/rpc.h"

/* The built-in authority: decides by policy, remembers tokens in memory or in a directory. */
struct iso_builtin_authority {
	const struct iso_loaded_policy *loaded; /* borrowed */
	struct iso_state_dir tokens;		/* `fd` -1: they are kept in memory */
	struct iso_strv issued; /* in memory: "TOKEN-DIGEST BINDING-DIGEST EXPIRES" */
	pthread_mutex_t lock;	/* of `issued` */
};

/*
 * state_dir  where tokens are kept, so that single use survives a restart (CAP-6) and holds among
 *	      processes; NULL: in memory, for tokens that do not leave this process
 *
 * Errors: ISO_ERR_SYSTEM.
 */
int iso_builtin_authority_open(const struct iso_loaded_policy *loaded, const char *state_dir,
			       struct iso_builtin_authority *ret_authority, struct iso_error *err);
void iso_builtin_authority_close(struct iso_builtin_authority *authority);

/*
 * Answer one request. The result, which may be a refusal, is owned by the caller. On failure
 * `ret_code` is what the wire says of it. Errors: ISO_ERR_INVALID: no such method, or malformed
 * parameters; ISO_ERR_SYSTEM, ISO_ERR_NOMEM. Thread-safe.
 */
int iso_builtin_authority_answer(struct iso_builtin_authority *authority, const char *method,
				 const cJSON *params, cJSON **ret_result,
				 enum iso_rpc_code *ret_code, struct iso_error *err);

/* An authority that is asked. */
struct iso_authority {
	struct iso_builtin_authority *builtin; /* borrowed; or NULL: */
	const char *socket_path;	       /* borrowed */
};

/*
 * Ask. `params` is JSON text. Errors: ISO_ERR_DENIED "host authorization unavailable; …" whenever
 * no well-formed answer comes within 10 s; ISO_ERR_NOMEM.
 */
int iso_authority_ask(const struct iso_authority *authority, const char *method, const char *params,
		      cJSON **ret_result, struct iso_error *err);

/*
 * Serve the built-in authority on a Unix socket, until `stop_fd` is readable. Other users are
 * refused. Errors: ISO_ERR_SYSTEM.
 */
int iso_authority_serve(struct iso_builtin_authority *authority, const char *socket_path,
			int stop_fd, struct iso_error *err);

#endif
