/* One request, one connection. Whatever goes wrong, nothing runs. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "runner/authority/authority.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/text/json_read.h"
#include "runner/wire/line.h"
#include "runner/wire/rpc.h"
#include "runner/wire/socket.h"

#define ANSWER_LIMIT_MS 10000
#define REQUEST_ID	1

static int unavailable(struct iso_error *err, const char *why)
{
	iso_error_set(err, ISO_ERR_DENIED, 0,
		      "host authorization unavailable; command was not executed");
	return iso_error_hint(err, "the authority %s", why);
}

/* The one line that is the answer, borrowed from `lines`; NULL: none came whole. */
static const char *receive_line(struct iso_wire_lines *lines, int fd, int64_t deadline_ns,
				size_t *ret_size)
{
	for (;;) {
		if (!iso_wire_wait(fd, POLLIN, deadline_ns) ||
		    iso_wire_receive(lines, fd) != ISO_WIRE_OPEN)
			return NULL;
		const char *line = iso_wire_take(lines, ret_size);
		if (line != NULL)
			return line;
	}
}

static int ask_remotely(const char *path, const char *method, const char *params,
			cJSON **ret_result, struct iso_error *err)
{
	int64_t deadline = iso_deadline_after(iso_clock_mono_ns(), ANSWER_LIMIT_MS);
	ISO_CLEANUP(iso_wire_lines_done)
	struct iso_wire_lines lines = {.line_max = ISO_JSON_SIZE_MAX};
	ISO_AUTO_FREE char *request = iso_rpc_print_request(REQUEST_ID, method, params);
	if (request == NULL)
		return iso_error_nomem(err);
	ISO_AUTO_CLOSE int fd = iso_wire_connect(path);
	if (fd < 0)
		return unavailable(err, "cannot be reached at its socket");
	size_t size;
	const char *line = iso_wire_send(fd, request, deadline)
				   ? receive_line(&lines, fd, deadline, &size)
				   : NULL;
	if (line == NULL)
		return unavailable(err, "gave no answer");
	*ret_result = iso_rpc_read_answer(line, size, REQUEST_ID);
	return *ret_result != NULL
		       ? 0
		       : unavailable(err, "answered with an error, or not to what was asked");
}

static int ask_builtin(struct iso_builtin_authority *builtin, const char *method,
		       const char *params, cJSON **ret_result, struct iso_error *err)
{
	cJSON *read;
	enum iso_rpc_code code;
	if (iso_json_parse("the parameters", params, strlen(params), &read, err) < 0)
		return -1;
	int status = iso_builtin_authority_answer(builtin, method, read, ret_result, &code, err);
	cJSON_Delete(read);
	return status;
}

int iso_authority_ask(const struct iso_authority *authority, const char *method, const char *params,
		      cJSON **ret_result, struct iso_error *err)
{
	if (authority->builtin != NULL)
		return ask_builtin(authority->builtin, method, params, ret_result, err);
	return ask_remotely(authority->socket_path, method, params, ret_result, err);
}
