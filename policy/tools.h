/*
 * The tools (TOOL-1): their names, permission classes and argument schemas as one table, which
 * validates requests and is what callers are told.
 */
#ifndef ISORUN_POLICY_TOOLS_H
#define ISORUN_POLICY_TOOLS_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "policy/policy.h"

enum iso_tool_id {
	ISO_TOOL_UNSET = 0,
	ISO_TOOL_READ,
	ISO_TOOL_LIST,
	ISO_TOOL_WRITE,
	ISO_TOOL_EXEC,
	ISO_TOOL_GIT_DIFF,
	ISO_TOOL_BASH,
};

enum iso_argument_type {
	ISO_ARGUMENT_NONE = 0,
	ISO_ARGUMENT_TEXT,     /* not empty */
	ISO_ARGUMENT_ANY_TEXT, /* may be empty */
	ISO_ARGUMENT_DIGEST,   /* SHA-256 as 64 hexadecimal digits */
	ISO_ARGUMENT_SECONDS,  /* finite and positive */
};

struct iso_argument {
	const char *name; /* NULL ends the list */
	enum iso_argument_type type;
	bool required;
	const char *description;
};

#define ISO_ARGUMENT_MAX 3

struct iso_tool {
	enum iso_tool_id id;
	const char *name;
	uint32_t permissions; /* all of these are needed */
	const char *description;
	struct iso_argument arguments[ISO_ARGUMENT_MAX + 1];
};

extern const struct iso_tool iso_tools[];
extern const size_t iso_tool_count;

/* The tool of that name, or NULL. */
const struct iso_tool *iso_tool_find(const char *name);

/* One request, its arguments read. Strings are borrowed from `arguments`. */
struct iso_call {
	const struct iso_tool *tool;
	cJSON *arguments; /* owned */
	const char *path, *text, *expected_sha256, *command, *workdir;
	bool has_timeout;
	uint64_t timeout_ms;
	char *canonical; /* owned; ["tool",{arguments}] with sorted keys (RCPT-2) */
};

/*
 * Read a request. `arguments` is JSON text; NULL: {}.
 *
 * Errors: ISO_ERR_INVALID: "Unknown tool", or what is wrong with which argument; ISO_ERR_NOMEM.
 */
int iso_call_read(const char *tool, const char *arguments, struct iso_call *ret_call,
		  struct iso_error *err);

/* A zeroed call is fine. */
void iso_call_done(struct iso_call *call);

/*
 * The tools that `policy` makes available, as JSON text that the caller frees: an array of {name,
 * description, inputSchema} (TOOL-2).
 */
int iso_tools_print(const struct iso_policy *policy, char **ret_json, struct iso_error *err);

#endif
