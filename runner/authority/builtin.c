/*
 * A token is 32 random bytes; what it is bound to is kept here, under the token's digest: a file in
 * the state directory. Consuming renames that file, which the kernel lets exactly one process do.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/capability.h"
#include "policy/egress.h"
#include "policy/evaluate.h"
#include "runner/authority/authority.h"
#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/path.h"
#include "runner/base/random.h"
#include "runner/base/text/json.h"
#include "runner/base/text/json_read.h"

#define LIFETIME_MS 30000
#define TOKEN_BYTES 32
#define RECORD_MAX  128
#define EXPIRED_S   600	 /* tokens as old as this expired long ago */
#define ISSUED_MAX  4096 /* in memory */

int iso_builtin_authority_open(const struct iso_loaded_policy *loaded, const char *state_dir,
			       struct iso_builtin_authority *ret_authority, struct iso_error *err)
{
	struct iso_builtin_authority authority = {
		.loaded = loaded,
		.tokens = {.fd = -1},
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	if (state_dir != NULL &&
	    iso_state_dir_open(state_dir, "tokens", 0, EXPIRED_S, &authority.tokens, err) < 0)
		return -1;
	*ret_authority = authority;
	return 0;
}

void iso_builtin_authority_close(struct iso_builtin_authority *authority)
{
	if (authority->loaded == NULL)
		return;
	iso_state_dir_close(&authority->tokens);
	iso_strv_done(&authority->issued);
	authority->loaded = NULL;
}

/* The digest of all that a token is bound to. */
static int digest_binding(const struct iso_json_at *params, char ret_digest[ISO_SHA256_HEX_SIZE],
			  struct iso_error *err)
{
	struct sha256_ctx context;
	sha256_init(&context);
	for (size_t i = 0; iso_bound_members[i] != NULL; i++) {
		struct iso_json_at member = iso_json_member(params, iso_bound_members[i]);
		const char *text;
		if (iso_json_text(&member, &text, err) < 0)
			return -1;
		sha256_update(&context, strlen(text) + 1, (const uint8_t *)text);
	}
	iso_sha256_finish(&context, ret_digest);
	return 0;
}

/* Old tokens need not be remembered: nobody may consume them. */
static void forget_expired(struct iso_builtin_authority *authority, int64_t now_ms)
{
	struct iso_strv kept = {0};
	for (size_t i = 0; i < authority->issued.count; i++) {
		const char *record = authority->issued.items[i];
		const char *expires = strrchr(record, ' ');
		if (expires != NULL && strtoll(expires, NULL, 10) > now_ms &&
		    iso_strv_add(&kept, record) < 0)
			return; /* no memory to tidy up in */
	}
	iso_strv_done(&authority->issued);
	authority->issued = kept;
}

static int remember(struct iso_builtin_authority *authority, const char *token, const char *binding,
		    int64_t expires_ms, struct iso_error *err)
{
	char digest[ISO_SHA256_HEX_SIZE], record[RECORD_MAX * 2];
	iso_sha256_hex(token, strlen(token), digest);
	if (authority->tokens.fd < 0) {
		pthread_mutex_lock(&authority->lock);
		if (authority->issued.count >= ISSUED_MAX)
			forget_expired(authority, iso_clock_unix_ms());
		bool full = authority->issued.count >= ISSUED_MAX;
		int status = full ? -1
				  : iso_strv_addf(&authority->issued, "%s %s %" PRId64, digest,
						  binding, expires_ms);
		pthread_mutex_unlock(&authority->lock);
		if (full)
			return iso_error_set(err, ISO_ERR_SYSTEM, ENOSPC,
					     "issue a token: %d wait to be used", ISSUED_MAX);
		return status < 0 ? iso_error_nomem(err) : 0;
	}
	snprintf(record, sizeof(record), "%s %" PRId64 "\n", binding, expires_ms);
	ISO_AUTO_CLOSE int fd = openat(authority->tokens.fd, digest,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || iso_fd_write_all(fd, record, strlen(record)) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "remember a token");
	iso_state_dir_added(&authority->tokens);
	return 0;
}

/* Take the record of a token out of the list of usable ones; false: it is not there (any more). */
static bool take_record(struct iso_builtin_authority *authority, const char *digest,
			char record[RECORD_MAX])
{
	if (authority->tokens.fd >= 0) {
		char used[ISO_SHA256_HEX_SIZE + 8];
		snprintf(used, sizeof(used), "%s.used", digest);
		/* Renaming onto what is there would succeed again, so a link has to come first. */
		if (iso_fd_read_small(authority->tokens.fd, digest, record, RECORD_MAX) <= 0 ||
		    linkat(authority->tokens.fd, digest, authority->tokens.fd, used, 0) < 0)
			return false;
		(void)unlinkat(authority->tokens.fd, digest, 0); /* ".used" decides */
		(void)fsync(authority->tokens.fd);		 /* also after a power failure */
		return true;
	}
	bool found = false;
	pthread_mutex_lock(&authority->lock);
	struct iso_strv *issued = &authority->issued;
	for (size_t i = 0; i < issued->count && !found; i++) {
		if (strncmp(issued->items[i], digest, strlen(digest)) != 0)
			continue;
		snprintf(record, RECORD_MAX, "%s", issued->items[i] + strlen(digest) + 1);
		free(issued->items[i]);
		issued->items[i] = issued->items[--issued->count];
		issued->items[issued->count] = NULL;
		found = true;
	}
	pthread_mutex_unlock(&authority->lock);
	return found;
}

/* A verdict `name`, unless that is NULL, and why, unless that is NULL. */
static int answer(const char *name, bool value, const char *error, cJSON **ret_result,
		  struct iso_error *err)
{
	struct iso_json json;
	cJSON *result = iso_json_begin(&json);
	if (name != NULL)
		iso_json_add_bool(&json, result, name, value);
	if (error != NULL)
		iso_json_add_text(&json, result, "error", error);
	return iso_json_end_tree(&json, result, ret_result, err);
}

/* CAP-9: the authority repeats what the worker has checked; it trusts no worker. */
static int judge(const struct iso_builtin_authority *authority, const char *command,
		 const char *cwd, struct iso_error *ret_reason)
{
	const struct iso_policy *policy = &authority->loaded->policy;
	const struct iso_call call = {
		.tool = iso_tool_find("host.bash"),
		.command = command,
	};
	struct iso_decision decision;
	iso_evaluate(policy, &call, cwd, &decision);
	if (!decision.allowed)
		return iso_error_set(ret_reason, ISO_ERR_DENIED, 0, "%s", decision.sentence);
	if (!iso_path_is_beneath(cwd, policy->root))
		return iso_error_set(ret_reason, ISO_ERR_DENIED, 0, "cwd is outside the workspace");
	return 0;
}

static int print_capability(const struct iso_json_at *params, const char *token, int64_t now_ms,
			    const char *root, cJSON **ret_result, struct iso_error *err)
{
	struct iso_json json;
	cJSON *result = iso_json_begin(&json);
	iso_json_add_u64(&json, result, "version", ISO_CAPABILITY_VERSION);
	iso_json_add_text(&json, result, "token", token);
	iso_json_add_text(&json, result, "allowed_root", root);
	iso_json_add_i64(&json, result, "issued_at_ms", now_ms);
	iso_json_add_i64(&json, result, "expires_at_ms", now_ms + LIFETIME_MS);
	for (size_t i = 0; iso_bound_members[i] != NULL; i++)
		iso_json_add_text(&json, result, iso_bound_members[i],
				  iso_json_member(params, iso_bound_members[i]).value->valuestring);
	return iso_json_end_tree(&json, result, ret_result, err);
}

static int authorize(struct iso_builtin_authority *authority, const struct iso_json_at *params,
		     cJSON **ret_result, struct iso_error *err)
{
	struct iso_json_at command_at = iso_json_member(params, "command");
	struct iso_json_at cwd_at = iso_json_member(params, "cwd");
	struct iso_json_at workspace_at = iso_json_member(params, "workspace");
	struct iso_json_at digest_at = iso_json_member(params, "command_sha256");
	const char *command, *cwd, *workspace, *digest;
	char binding[ISO_SHA256_HEX_SIZE], actual[ISO_SHA256_HEX_SIZE];
	struct iso_error reason = {0};
	if (iso_json_text(&command_at, &command, err) < 0 ||
	    iso_json_text(&cwd_at, &cwd, err) < 0 ||
	    iso_json_text(&workspace_at, &workspace, err) < 0 ||
	    iso_json_text(&digest_at, &digest, err) < 0 || digest_binding(params, binding, err) < 0)
		return -1;
	iso_sha256_hex(command, strlen(command), actual);
	if (strcmp(actual, digest) != 0)
		return answer(NULL, false, "command_sha256 is not that of the command", ret_result,
			      err);
	const char *root = authority->loaded->policy.root;
	if (strcmp(workspace, root) != 0)
		return answer(NULL, false, "workspace is not that of the policy", ret_result, err);
	if (judge(authority, command, cwd, &reason) < 0)
		return answer(NULL, false, reason.message, ret_result, err);

	char token[ISO_RANDOM_BASE64URL_SIZE(TOKEN_BYTES)];
	if (iso_random_base64url(TOKEN_BYTES, token) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	int64_t now_ms = iso_clock_unix_ms();
	if (remember(authority, token, binding, now_ms + LIFETIME_MS, err) < 0)
		return -1;
	return print_capability(params, token, now_ms, root, ret_result, err);
}

/* CAP-6: of any number of consumers exactly one gets ok. A token that is shown with another binding
 * is used up, too: somebody tries something. */
static int consume(struct iso_builtin_authority *authority, const struct iso_json_at *params,
		   cJSON **ret_result, struct iso_error *err)
{
	struct iso_json_at token_at = iso_json_member(params, "token");
	const char *token;
	char digest[ISO_SHA256_HEX_SIZE], binding[ISO_SHA256_HEX_SIZE], record[RECORD_MAX];
	if (iso_json_text(&token_at, &token, err) < 0 || digest_binding(params, binding, err) < 0)
		return -1;
	iso_sha256_hex(token, strlen(token), digest);
	if (!take_record(authority, digest, record))
		return answer("ok", false, "token is unknown or was consumed", ret_result, err);
	if (strncmp(record, binding, strlen(binding)) != 0)
		return answer("ok", false, "token is bound to another request", ret_result, err);
	if (strtoll(record + strlen(binding), NULL, 10) <= iso_clock_unix_ms())
		return answer("ok", false, "token expired", ret_result, err);
	return answer("ok", true, NULL, ret_result, err);
}

static int check_egress(struct iso_builtin_authority *authority, const struct iso_json_at *params,
			cJSON **ret_result, struct iso_error *err)
{
	static const struct iso_strv nothing = {NULL, 0};
	const struct iso_policy *policy = &authority->loaded->policy;
	bool network = (policy->permissions & ISO_PERMISSION_NETWORK) != 0;
	struct iso_json_at command_at = iso_json_member(params, "command");
	struct iso_error reason = {0};
	const char *command;
	if (iso_json_text(&command_at, &command, err) < 0)
		return -1;
	if (iso_egress_check(network ? &policy->network_allow : &nothing, command, &reason) < 0)
		return answer("allowed", false, reason.message, ret_result, err);
	return answer("allowed", true, NULL, ret_result, err);
}

/* The worker's own log has the whole; here it is enough that the report is one. */
static int record_result(struct iso_builtin_authority *authority, const struct iso_json_at *params,
			 cJSON **ret_result, struct iso_error *err)
{
	(void)authority;
	struct iso_json_at status_at = iso_json_member(params, "status");
	const char *status;
	if (iso_json_text(&status_at, &status, err) < 0)
		return -1;
	return answer("recorded", true, NULL, ret_result, err);
}

static const struct {
	const char *name;
	int (*answer)(struct iso_builtin_authority *authority, const struct iso_json_at *params,
		      cJSON **ret_result, struct iso_error *err);
} methods[] = {
	{"authorize_bash", authorize},
	{"consume_bash_authorization", consume},
	{"egress_check", check_egress},
	{"record_bash_result", record_result},
};

/* What a method failed with, as the wire says it. */
static enum iso_rpc_code code_of(const struct iso_error *err)
{
	if (err->code == ISO_ERR_INVALID)
		return ISO_RPC_PARAMS;
	return err->os_errno == ENOSPC ? ISO_RPC_BUSY : ISO_RPC_INTERNAL;
}

int iso_builtin_authority_answer(struct iso_builtin_authority *authority, const char *method,
				 const cJSON *params, cJSON **ret_result,
				 enum iso_rpc_code *ret_code, struct iso_error *err)
{
	struct iso_json_at top = iso_json_root("the parameters", params);
	struct iso_error reason = {0};
	size_t index = 0;
	while (index < ISO_COUNT(methods) && strcmp(methods[index].name, method) != 0)
		index++;
	if (index == ISO_COUNT(methods)) {
		*ret_code = ISO_RPC_METHOD;
		return iso_error_set(err, ISO_ERR_INVALID, 0, "there is no method \"%s\"", method);
	}
	if (iso_json_object(&top, NULL, &reason) == 0 &&
	    methods[index].answer(authority, &top, ret_result, &reason) == 0)
		return 0;
	*ret_code = code_of(&reason);
	if (err != NULL)
		*err = reason;
	return -1;
}
