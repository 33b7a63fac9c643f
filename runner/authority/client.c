/*
 * One request, one connection, newline-delimited JSON-RPC 2.0. Whatever goes wrong, nothing runs.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runner/authority/authority.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json_read.h"

#define ANSWER_MAX	ISO_JSON_SIZE_MAX
#define ANSWER_LIMIT_MS 10000

static int unavailable(struct iso_error *err, const char *why)
{
	iso_error_set(err, ISO_ERR_DENIED, 0,
		      "host authorization unavailable; command was not executed");
	return iso_error_hint(err, "the authority %s", why);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	ISO_AUTO_CLOSE int fd =
		iso_fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return ISO_TAKE_FD(fd);
}

/* Send or receive as the socket lets us; false at the deadline or an error. */
static bool wait_for(int fd, short events, int64_t deadline_ns)
{
	for (;;) {
		struct pollfd event = {.fd = fd, .events = events};
		int64_t now = iso_clock_mono_ns();
		int count = now >= deadline_ns
				    ? 0
				    : poll(&event, 1, iso_deadline_poll_ms(deadline_ns, now));
		if (count > 0)
			return true;
		if (count == 0 && iso_clock_mono_ns() >= deadline_ns)
			return false;
		if (count < 0 && errno != EINTR)
			return false;
	}
}

static bool send_all(int fd, const char *text, int64_t deadline_ns)
{
	size_t size = strlen(text);
	while (size > 0) {
		ssize_t count = send(fd, text, size, MSG_NOSIGNAL);
		if (count > 0) {
			text += count;
			size -= (size_t)count;
			continue;
		}
		bool busy = count == 0 || errno == EAGAIN || errno == EINTR;
		if (!busy || !wait_for(fd, POLLOUT, deadline_ns))
			return false;
	}
	return true;
}

/* One line, without its newline, that the caller frees; NULL: none came whole. */
static char *receive_line(int fd, int64_t deadline_ns, size_t *ret_size)
{
	size_t size = 0, capacity = 4096;
	ISO_AUTO_FREE char *line = malloc(capacity);
	while (line != NULL) {
		ssize_t count = recv(fd, line + size, capacity - size, 0);
		if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
			return NULL;
		if (count < 0) {
			if (!wait_for(fd, POLLIN, deadline_ns))
				return NULL;
			continue;
		}
		const char *newline = memchr(line + size, '\n', (size_t)count);
		size += (size_t)count;
		if (newline != NULL) {
			*ret_size = (size_t)(newline - line);
			return ISO_TAKE_PTR(line);
		}
		if (size == capacity) {
			char *grown = capacity < ANSWER_MAX ? realloc(line, capacity * 2) : NULL;
			if (grown == NULL)
				return NULL;
			line = grown;
			capacity *= 2;
		}
	}
	return NULL;
}

/* The result in a JSON-RPC answer to request number 1. */
static int read_answer(const char *line, size_t size, cJSON **ret_result, struct iso_error *err)
{
	cJSON *answer;
	struct iso_error reason = {0};
	if (iso_json_parse("the authority's answer", line, size, &answer, &reason) < 0)
		return unavailable(err, "answered with what is no JSON");
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(answer, "jsonrpc");
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(answer, "id");
	cJSON *result = cJSON_DetachItemFromObjectCaseSensitive(answer, "result");
	bool good = cJSON_IsString(version) && strcmp(version->valuestring, "2.0") == 0 &&
		    cJSON_IsRaw(id) && strcmp(id->valuestring, "1") == 0 && cJSON_IsObject(result);
	cJSON_Delete(answer);
	if (!good) {
		cJSON_Delete(result);
		return unavailable(err, "answered with an error, or not to what was asked");
	}
	*ret_result = result;
	return 0;
}

static int ask_remotely(const char *path, const char *method, const char *params,
			cJSON **ret_result, struct iso_error *err)
{
	int64_t deadline = iso_deadline_after(iso_clock_mono_ns(), ANSWER_LIMIT_MS);
	ISO_AUTO_FREE char *request = iso_strf(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}\n", method, params);
	if (request == NULL)
		return iso_error_nomem(err);
	ISO_AUTO_CLOSE int fd = connect_to(path);
	if (fd < 0)
		return unavailable(err, "cannot be reached at its socket");
	size_t size;
	ISO_AUTO_FREE char *line =
		send_all(fd, request, deadline) ? receive_line(fd, deadline, &size) : NULL;
	if (line == NULL)
		return unavailable(err, "gave no answer");
	return read_answer(line, size, ret_result, err);
}

static int ask_builtin(struct iso_builtin_authority *builtin, const char *method,
		       const char *params, cJSON **ret_result, struct iso_error *err)
{
	cJSON *read;
	if (iso_json_parse("the parameters", params, strlen(params), &read, err) < 0)
		return -1;
	int status = iso_builtin_authority_answer(builtin, method, read, ret_result, err);
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
