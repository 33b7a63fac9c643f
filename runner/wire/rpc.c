/* Ids are given back as they came. */
#include "runner/wire/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/error.h"
#include "runner/base/text/json.h"
#include "runner/base/text/json_read.h"
#include "runner/base/text/strv.h"

int iso_rpc_read(const char *line, size_t size, struct iso_rpc_request *ret_request,
		 enum iso_rpc_code *ret_code, struct iso_error *err)
{
	struct iso_rpc_request request = {.tree = NULL};
	if (iso_json_parse("the request", line, size, &request.tree, err) < 0) {
		*ret_code = err->code == ISO_ERR_NOMEM ? ISO_RPC_INTERNAL : ISO_RPC_PARSE;
		return -1;
	}
	request.id = cJSON_GetObjectItemCaseSensitive(request.tree, "id");
	request.method =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(request.tree, "method"));
	request.params = cJSON_GetObjectItemCaseSensitive(request.tree, "params");
	*ret_request = request;
	if (request.id != NULL && request.method != NULL)
		return 0;
	*ret_code = ISO_RPC_REQUEST;
	return iso_error_set(err, ISO_ERR_INVALID, 0, "it is no request");
}

void iso_rpc_done(struct iso_rpc_request *request)
{
	cJSON_Delete(request->tree);
	*request = (struct iso_rpc_request){.tree = NULL};
}

static cJSON *begin(struct iso_json *json, const cJSON *id)
{
	cJSON *root = iso_json_begin(json);
	cJSON *echoed = id != NULL ? cJSON_Duplicate(id, true) : cJSON_CreateNull();
	iso_json_add_text(json, root, "jsonrpc", "2.0");
	if (echoed == NULL || root == NULL || !cJSON_AddItemToObject(root, "id", echoed)) {
		cJSON_Delete(echoed);
		json->failed = true;
	}
	return root;
}

static char *end(struct iso_json *json, cJSON *root)
{
	char *text = NULL;
	if (iso_json_end(json, root, &text, NULL) < 0)
		return NULL;
	char *line = iso_strf("%s\n", text);
	free(text);
	return line;
}

char *iso_rpc_print_result(const cJSON *id, cJSON *result)
{
	struct iso_json json;
	cJSON *root = begin(&json, id);
	if (root == NULL || !cJSON_AddItemToObject(root, "result", result)) {
		cJSON_Delete(result);
		json.failed = true;
	}
	return end(&json, root);
}

char *iso_rpc_print_error(const cJSON *id, enum iso_rpc_code code, const char *message)
{
	struct iso_json json;
	cJSON *root = begin(&json, id);
	cJSON *error = iso_json_add_object(&json, root, "error");
	iso_json_add_i64(&json, error, "code", code);
	iso_json_add_text(&json, error, "message", message);
	return end(&json, root);
}

char *iso_rpc_print_request(int id, const char *method, const char *params)
{
	return iso_strf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}\n", id,
			method, params);
}

cJSON *iso_rpc_read_answer(const char *line, size_t size, int id)
{
	cJSON *answer;
	char expected[16];
	struct iso_error reason = {0};
	if (iso_json_parse("the answer", line, size, &answer, &reason) < 0)
		return NULL;
	const char *version =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "jsonrpc"));
	const cJSON *echoed = cJSON_GetObjectItemCaseSensitive(answer, "id");
	cJSON *result = cJSON_DetachItemFromObjectCaseSensitive(answer, "result");
	snprintf(expected, sizeof(expected), "%d", id);
	bool good = version != NULL && strcmp(version, "2.0") == 0 && cJSON_IsRaw(echoed) &&
		    strcmp(echoed->valuestring, expected) == 0 && cJSON_IsObject(result);
	cJSON_Delete(answer);
	if (good)
		return result;
	cJSON_Delete(result);
	return NULL;
}
