/* Every binding is compared here, whatever the authority says: it answers, it does not decide. */
#include "policy/capability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/base/file/path.h"
#include "runner/base/random.h"
#include "runner/base/text/json_read.h"

const char *const iso_bound_members[] = {"command_sha256", "cwd",	"workspace",
					 "generation",	   "challenge", NULL};

int iso_binding_seal(struct iso_binding *binding, struct iso_error *err)
{
	iso_sha256_hex(binding->command, strlen(binding->command), binding->command_sha256);
	if (iso_random_base64url(ISO_CHALLENGE_BYTES, binding->challenge) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	return 0;
}

/* What was asked for, as a member of iso_bound_members. */
static const char *bound_value(const struct iso_binding *binding, size_t member)
{
	const char *const values[] = {binding->command_sha256, binding->cwd, binding->workspace,
				      binding->generation, binding->challenge};
	_Static_assert(ISO_COUNT(values) == ISO_COUNT(iso_bound_members) - 1,
		       "a value for each member");
	return values[member];
}

void iso_binding_add_bound(const struct iso_binding *binding, struct iso_json *json, cJSON *object)
{
	for (size_t i = 0; iso_bound_members[i] != NULL; i++)
		iso_json_add_text(json, object, iso_bound_members[i], bound_value(binding, i));
}

void iso_binding_add(const struct iso_binding *binding, struct iso_json *json, cJSON *object)
{
	iso_json_add_text(json, object, "command", binding->command);
	iso_binding_add_bound(binding, json, object);
	iso_json_add_thousandths(json, object, "timeout", (int64_t)binding->timeout_ms);
}

static int deny(struct iso_error *err, const char *sentence)
{
	return iso_error_set(err, ISO_ERR_DENIED, 0, "%s", sentence);
}

static int unavailable(struct iso_error *err)
{
	return deny(err, "host authorization unavailable; command was not executed");
}

/* CAP-3: all fields are there; those that are not are listed. */
static int check_complete(const struct iso_json_at *answer, struct iso_error *err)
{
	static const char *const fields[] = {
		"version",	"token",      "command_sha256", "cwd",		"workspace",
		"allowed_root", "generation", "challenge",	"issued_at_ms", "expires_at_ms"};
	char missing[256] = "", *end = missing;
	for (size_t i = 0; i < ISO_COUNT(fields); i++) {
		if (iso_json_member(answer, fields[i]).value != NULL)
			continue;
		if (end > missing)
			end = stpcpy(end, ", ");
		end = stpcpy(end, fields[i]); /* all of them fit */
	}
	return missing[0] == '\0' ? 0
				  : iso_error_set(err, ISO_ERR_DENIED, 0,
						  "host capability is missing %s", missing);
}

static const char *text_of(const struct iso_json_at *answer, const char *name)
{
	const char *text;
	struct iso_json_at member = iso_json_member(answer, name);
	return iso_json_text(&member, &text, NULL) < 0 ? NULL : text;
}

/* CAP-3: what was asked for, byte for byte. */
static int check_bindings(const struct iso_json_at *answer, const struct iso_binding *binding,
			  struct iso_error *err)
{
	for (size_t i = 0; iso_bound_members[i] != NULL; i++) {
		const char *granted = text_of(answer, iso_bound_members[i]);
		if (granted == NULL || strcmp(granted, bound_value(binding, i)) != 0)
			return iso_error_set(err, ISO_ERR_DENIED, 0,
					     "host capability does not match: %s",
					     iso_bound_members[i]);
	}
	return 0;
}

/* CAP-3: the command stays where it was allowed. */
static int check_places(const struct iso_json_at *answer, const struct iso_binding *binding,
			bool (*is_directory)(const char *path), struct iso_error *err)
{
	const char *root = text_of(answer, "allowed_root");
	if (root == NULL || !iso_path_is_normal(root) || !is_directory(root))
		return deny(err, "host capability allowed_root is no canonical directory");
	if (!is_directory(binding->cwd) || !is_directory(binding->workspace))
		return deny(err, "host capability cwd or workspace is no canonical directory");
	if (!iso_path_is_beneath(binding->cwd, root))
		return deny(err, "host capability cwd is outside allowed_root");
	return 0;
}

static int read_time(const struct iso_json_at *answer, const char *name, int64_t *ret_ms)
{
	uint64_t value;
	struct iso_json_at member = iso_json_member(answer, name);
	if (iso_json_whole(&member, 0, INT64_MAX, &value, NULL) < 0)
		return -1;
	*ret_ms = (int64_t)value;
	return 0;
}

/* CAP-4 */
static int check_times(const struct iso_json_at *answer, int64_t now_ms,
		       struct iso_capability *capability, struct iso_error *err)
{
	int64_t issued, expires;
	if (read_time(answer, "issued_at_ms", &issued) < 0 ||
	    read_time(answer, "expires_at_ms", &expires) < 0)
		return deny(err, "host capability times are malformed");
	if (expires <= issued)
		return deny(err, "host capability expires before it is issued");
	if (expires - issued > ISO_CAPABILITY_LIFETIME_MS)
		return deny(err, "host capability lifetime exceeds 60 s");
	if (issued > now_ms + ISO_CAPABILITY_SKEW_MS)
		return deny(err, "host capability is issued in the future");
	if (expires <= now_ms)
		return deny(err, "host capability expired");
	capability->issued_at_ms = issued;
	capability->expires_at_ms = expires;
	return 0;
}

int iso_capability_check(const cJSON *answer, const struct iso_binding *binding, int64_t now_ms,
			 bool (*is_directory)(const char *path),
			 struct iso_capability *ret_capability, struct iso_error *err)
{
	struct iso_json_at top = iso_json_root("the capability", answer);
	struct iso_capability capability = {0};
	uint64_t version;
	if (!cJSON_IsObject(answer))
		return unavailable(err);
	if (cJSON_GetObjectItemCaseSensitive(answer, "error") != NULL) {
		const char *reason = text_of(&top, "error");
		return iso_error_set(err, ISO_ERR_DENIED, 0, "host authorization refused: %s",
				     reason != NULL ? reason : "no reason given");
	}
	if (check_complete(&top, err) < 0)
		return -1;
	struct iso_json_at version_at = iso_json_member(&top, "version");
	if (iso_json_whole(&version_at, ISO_CAPABILITY_VERSION, ISO_CAPABILITY_VERSION, &version,
			   NULL) < 0)
		return deny(err, "host capability version is not known");
	const char *token = text_of(&top, "token");
	if (token == NULL || strlen(token) < ISO_TOKEN_MIN)
		return deny(err, "host capability token is malformed");
	if (check_bindings(&top, binding, err) < 0 ||
	    check_places(&top, binding, is_directory, err) < 0 ||
	    check_times(&top, now_ms, &capability, err) < 0)
		return -1;
	capability.token = strdup(token);
	capability.allowed_root = strdup(text_of(&top, "allowed_root"));
	if (capability.token == NULL || capability.allowed_root == NULL) {
		iso_capability_done(&capability);
		return iso_error_nomem(err);
	}
	*ret_capability = capability;
	return 0;
}

void iso_capability_done(struct iso_capability *capability)
{
	free(capability->token);
	free(capability->allowed_root);
	*capability = (struct iso_capability){0};
}

int iso_replay_mark(struct iso_replay_window *window, const char *token, struct iso_error *err)
{
	char digest[ISO_SHA256_HEX_SIZE];
	iso_sha256_hex(token, strlen(token), digest);
	if (window->digests == NULL) {
		window->digests = calloc(ISO_REPLAY_WINDOW, sizeof(*window->digests));
		if (window->digests == NULL)
			return iso_error_nomem(err);
	}
	size_t known = window->count < ISO_REPLAY_WINDOW ? window->count : ISO_REPLAY_WINDOW;
	for (size_t i = 0; i < known; i++) {
		if (strcmp(window->digests[i], digest) == 0)
			return deny(err, "host capability token replayed");
	}
	memcpy(window->digests[window->count++ % ISO_REPLAY_WINDOW], digest, sizeof(digest));
	return 0;
}

void iso_replay_done(struct iso_replay_window *window)
{
	free(window->digests);
	*window = (struct iso_replay_window){0};
}
