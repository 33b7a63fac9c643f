/*
 * One-shot capabilities for host.bash (CAP): what the worker asks an authority to authorise, and
 * the local check of what it answers. Pure: the wire is runner's, the clock is given.
 */
#ifndef ISORUN_POLICY_CAPABILITY_H
#define ISORUN_POLICY_CAPABILITY_H

#include <stdint.h>

#include "runner/base/digest.h"
#include "runner/base/random.h"
#include "runner/base/text/json.h"
#include "runner/isorun.h"

#define ISO_CAPABILITY_VERSION	   1
#define ISO_TOKEN_MIN		   24 /* characters */
#define ISO_CHALLENGE_BYTES	   24
#define ISO_CAPABILITY_LIFETIME_MS 60000
#define ISO_CAPABILITY_SKEW_MS	   5000
#define ISO_REPLAY_WINDOW	   1024

/* What is asked for (CAP-1). Strings are borrowed. */
struct iso_binding {
	const char *command;
	char command_sha256[ISO_SHA256_HEX_SIZE];
	const char *cwd;       /* canonical */
	const char *workspace; /* canonical */
	const char *generation;
	char challenge[ISO_RANDOM_BASE64URL_SIZE(ISO_CHALLENGE_BYTES)];
	uint64_t timeout_ms;
};

/* What an authority grants (CAP-2). */
struct iso_capability {
	char *token;			     /* owned */
	char *allowed_root;		     /* owned; canonical */
	int64_t issued_at_ms, expires_at_ms; /* Unix time */
};

/* Give a binding, whose other members are set, a fresh random challenge and the command's digest.
 * Errors: ISO_ERR_SYSTEM. */
int iso_binding_seal(struct iso_binding *binding, struct iso_error *err);

/* The members that a token is bound to, in the order of CAP-1; NULL-terminated. */
extern const char *const iso_bound_members[];

/* Those members, added to a JSON object. */
void iso_binding_add_bound(const struct iso_binding *binding, struct iso_json *json, cJSON *object);

/* All members of a binding, added to a JSON object. */
void iso_binding_add(const struct iso_binding *binding, struct iso_json *json, cJSON *object);

/*
 * Check an authority's answer against what was asked (CAP-2 to CAP-4).
 *
 * answer  the JSON-RPC result, as read by iso_json_parse
 * now_ms  Unix time
 * is_directory  whether a path is the canonical one of a directory, which only the host can say
 *
 * Errors: ISO_ERR_DENIED with the sentence of the rule; ISO_ERR_NOMEM.
 */
int iso_capability_check(const cJSON *answer, const struct iso_binding *binding, int64_t now_ms,
			 bool (*is_directory)(const char *path),
			 struct iso_capability *ret_capability, struct iso_error *err);
void iso_capability_done(struct iso_capability *capability);

/* Tokens that this process has used: a ring of the last ISO_REPLAY_WINDOW digests (CAP-5). Zeroed:
 * empty. Not thread-safe. */
struct iso_replay_window {
	char (*digests)[ISO_SHA256_HEX_SIZE]; /* owned */
	size_t count;
};

/*
 * Mark `token` used: 0, or -1 with ISO_ERR_DENIED "host capability token replayed"; ISO_ERR_NOMEM.
 */
int iso_replay_mark(struct iso_replay_window *window, const char *token, struct iso_error *err);
void iso_replay_done(struct iso_replay_window *window);

#endif
