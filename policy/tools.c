/* Validation and what callers are told walk the same table. */
#include "policy/tools.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/text/json.h"
#include "runner/base/text/json_read.h"

#define PATH_ARGUMENT(what)                           \
	{                                             \
		"path", ISO_ARGUMENT_TEXT, true, what \
	}

const struct iso_tool iso_tools[] = {
	{
		ISO_TOOL_READ,
		"filesystem.read",
		ISO_PERMISSION_READ,
		"Read a UTF-8 text file of the workspace.",
		{PATH_ARGUMENT("the file, relative to the workspace")},
	},
	{
		ISO_TOOL_LIST,
		"filesystem.list",
		ISO_PERMISSION_READ,
		"List a directory of the workspace; directories end in a slash.",
		{PATH_ARGUMENT("the directory, relative to the workspace; \".\" is the workspace")},
	},
	{
		ISO_TOOL_WRITE,
		"filesystem.write",
		ISO_PERMISSION_WRITE,
		"Write a text file of the workspace as a whole. An existing file is only replaced "
		"when its SHA-256 is given.",
		{
			PATH_ARGUMENT("the file, relative to the workspace"),
			{"text", ISO_ARGUMENT_ANY_TEXT, true, "the new content"},
			{"expected_sha256", ISO_ARGUMENT_DIGEST, false,
			 "digest of the content that is to be replaced"},
		},
	},
	{
		ISO_TOOL_EXEC,
		"shell.exec",
		ISO_PERMISSION_EXECUTE,
		"Run a command that the operator has configured, by its name.",
		{{"command", ISO_ARGUMENT_TEXT, true, "the configured name, not a command line"}},
	},
	{
		ISO_TOOL_GIT_DIFF,
		"git.diff",
		ISO_PERMISSION_READ | ISO_PERMISSION_EXECUTE,
		"Show what changed in the workspace since the last commit's index.",
		{{NULL, ISO_ARGUMENT_NONE, false, NULL}},
	},
	{
		ISO_TOOL_BASH,
		"host.bash",
		ISO_PERMISSION_EXECUTE,
		"Run a command line in the sandbox, against a one-shot capability.",
		{
			{"command", ISO_ARGUMENT_TEXT, true, "the command line"},
			{"timeout", ISO_ARGUMENT_SECONDS, false, "seconds until it is killed"},
			{"workdir", ISO_ARGUMENT_TEXT, false, "where it starts"},
		},
	},
};
const size_t iso_tool_count = ISO_COUNT(iso_tools);

const struct iso_tool *iso_tool_find(const char *name)
{
	for (size_t i = 0; i < iso_tool_count; i++) {
		if (strcmp(iso_tools[i].name, name) == 0)
			return &iso_tools[i];
	}
	return NULL;
}

static bool is_digest(const char *text)
{
	return strlen(text) == 64 && text[strspn(text, "0123456789abcdefABCDEF")] == '\0';
}

/* Where the value of an argument of that name is kept in a call. */
static const char **text_slot(struct iso_call *call, const char *name)
{
	const struct {
		const char *name;
		const char **slot;
	} slots[] = {
		{"path", &call->path},
		{"text", &call->text},
		{"command", &call->command},
		{"workdir", &call->workdir},
		{"expected_sha256", &call->expected_sha256},
	};
	for (size_t i = 0; i < ISO_COUNT(slots); i++) {
		if (strcmp(slots[i].name, name) == 0)
			return slots[i].slot;
	}
	return NULL;
}

static int refuse_path(struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_DENIED, 0, "Only relative workspace paths are accepted");
}

static int read_argument(const struct iso_json_at *at, const struct iso_argument *argument,
			 struct iso_call *call, struct iso_error *err)
{
	if (at->value == NULL)
		return argument->required ? iso_json_refuse(at, err, "it is required") : 0;
	if (argument->type == ISO_ARGUMENT_SECONDS) {
		call->has_timeout = true;
		return iso_json_seconds(at, &call->timeout_ms, err);
	}
	const char *text;
	if (iso_json_text(at, &text, err) < 0)
		return -1;
	if (*text == '\0' && strcmp(argument->name, "path") == 0)
		return refuse_path(err);
	if (argument->type == ISO_ARGUMENT_TEXT && *text == '\0')
		return iso_json_refuse(at, err, "a string that is not empty is needed");
	if (argument->type == ISO_ARGUMENT_DIGEST && !is_digest(text))
		return iso_json_refuse(at, err, "64 hexadecimal digits are needed");
	*text_slot(call, argument->name) = text;
	return 0;
}

static int read_arguments(const struct iso_json_at *top, struct iso_call *call,
			  struct iso_error *err)
{
	const char *known[ISO_ARGUMENT_MAX + 1] = {NULL};
	const struct iso_argument *arguments = call->tool->arguments;
	for (size_t i = 0; arguments[i].name != NULL; i++)
		known[i] = arguments[i].name;
	if (iso_json_object(top, known, err) < 0)
		return -1;
	for (size_t i = 0; arguments[i].name != NULL; i++) {
		struct iso_json_at member = iso_json_member(top, arguments[i].name);
		if (read_argument(&member, &arguments[i], call, err) < 0)
			return -1;
	}
	return 0;
}

static int read_call(const char *arguments, struct iso_call *call, struct iso_error *err)
{
	const char *text = arguments != NULL ? arguments : "{}";
	struct iso_error reason = {0};
	if (iso_json_parse("the arguments", text, strlen(text), &call->arguments, &reason) < 0) {
		/* PATH-1 names what no string of C can hold. */
		if (strstr(reason.message, ": $.path: NUL ") != NULL)
			return refuse_path(err);
		if (err != NULL)
			*err = reason;
		return -1;
	}
	struct iso_json_at top = iso_json_root("the arguments", call->arguments);
	if (read_arguments(&top, call, err) < 0)
		return -1;
	ISO_AUTO_FREE char *canonical = NULL;
	if (iso_json_canonical(call->arguments, &canonical, err) < 0)
		return -1;
	call->canonical = iso_strf("[\"%s\",%s]", call->tool->name, canonical);
	return call->canonical == NULL ? iso_error_nomem(err) : 0;
}

int iso_call_read(const char *tool, const char *arguments, struct iso_call *ret_call,
		  struct iso_error *err)
{
	struct iso_call call = {.tool = iso_tool_find(tool)};
	if (call.tool == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "Unknown tool");
	if (read_call(arguments, &call, err) < 0) {
		iso_call_done(&call);
		return -1;
	}
	*ret_call = call;
	return 0;
}

void iso_call_done(struct iso_call *call)
{
	cJSON_Delete(call->arguments);
	free(call->canonical);
	*call = (struct iso_call){0};
}

static void add_schema(struct iso_json *json, cJSON *item, const struct iso_tool *tool)
{
	cJSON *schema = iso_json_add_object(json, item, "inputSchema");
	iso_json_add_text(json, schema, "type", "object");
	iso_json_add_bool(json, schema, "additionalProperties", false);
	cJSON *properties = iso_json_add_object(json, schema, "properties");
	cJSON *required = iso_json_add_array(json, schema, "required");
	for (const struct iso_argument *argument = tool->arguments; argument->name != NULL;
	     argument++) {
		cJSON *property = iso_json_add_object(json, properties, argument->name);
		bool is_number = argument->type == ISO_ARGUMENT_SECONDS;
		iso_json_add_text(json, property, "type", is_number ? "number" : "string");
		if (is_number)
			iso_json_add_u64(json, property, "exclusiveMinimum", 0);
		if (argument->type == ISO_ARGUMENT_TEXT)
			iso_json_add_u64(json, property, "minLength", 1);
		if (argument->type == ISO_ARGUMENT_DIGEST)
			iso_json_add_text(json, property, "pattern", "^[0-9a-fA-F]{64}$");
		iso_json_add_text(json, property, "description", argument->description);
		if (argument->required)
			iso_json_append_text(json, required, argument->name);
	}
}

int iso_tools_print(const struct iso_policy *policy, char **ret_json, struct iso_error *err)
{
	struct iso_json json;
	cJSON *root = iso_json_begin_array(&json);
	for (size_t i = 0; i < iso_tool_count; i++) {
		const struct iso_tool *tool = &iso_tools[i];
		bool permitted = (policy->permissions & tool->permissions) == tool->permissions;
		if (!permitted || (tool->id == ISO_TOOL_EXEC && policy->command_count == 0))
			continue;
		cJSON *item = iso_json_append_object(&json, root);
		iso_json_add_text(&json, item, "name", tool->name);
		iso_json_add_text(&json, item, "description", tool->description);
		add_schema(&json, item, tool);
	}
	return iso_json_end(&json, root, ret_json, err);
}
