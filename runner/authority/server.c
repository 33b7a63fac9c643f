/*
 * One thread, one poll loop: an answer takes microseconds, and single use is the state directory's
 * doing. A client that sends too much, or nothing for a minute, is dropped.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/authority/authority.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json.h"
#include "runner/base/text/json_read.h"

#define CLIENT_MAX   256
#define REQUEST_MAX  ISO_JSON_SIZE_MAX
#define IDLE_MS	     60000
#define CODE_PARSE   (-32700)
#define CODE_REQUEST (-32600)
#define CODE_METHOD  (-32601)

struct client {
	int fd;	      /* owned */
	char *buffer; /* owned */
	size_t size, capacity;
	int64_t idle_deadline_ns;
};

struct server {
	struct iso_builtin_authority *authority;
	int listen_fd;
	struct client clients[CLIENT_MAX];
	size_t count;
};

static void drop(struct server *server, size_t index)
{
	iso_fd_close(server->clients[index].fd);
	free(server->clients[index].buffer);
	server->clients[index] = server->clients[--server->count];
}

/* Only root and the user who runs the authority may ask. */
static bool is_welcome(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static void welcome(struct server *server)
{
	int fd = iso_fd_above_stdio(
		accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (fd < 0)
		return;
	if (server->count == CLIENT_MAX || !is_welcome(fd)) {
		iso_fd_close(fd);
		return;
	}
	server->clients[server->count++] = (struct client){
		.fd = fd,
		.idle_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), IDLE_MS),
	};
}

/* {"jsonrpc":"2.0","id":…,"result":…} or with an error, as a line. */
static char *print_answer(const cJSON *id, cJSON *result, int code, const char *message)
{
	struct iso_json json;
	cJSON *root = iso_json_begin(&json);
	cJSON *echoed = id != NULL ? cJSON_Duplicate(id, true) : cJSON_CreateNull();
	char *text = NULL;
	iso_json_add_text(&json, root, "jsonrpc", "2.0");
	if (echoed == NULL || !cJSON_AddItemToObject(root, "id", echoed))
		json.failed = true;
	if (result != NULL && !cJSON_AddItemToObject(root, "result", result))
		json.failed = true;
	if (result == NULL) {
		cJSON *error = iso_json_add_object(&json, root, "error");
		iso_json_add_i64(&json, error, "code", code);
		iso_json_add_text(&json, error, "message", message);
	}
	if (iso_json_end(&json, root, &text, NULL) < 0)
		return NULL;
	char *line = iso_strf("%s\n", text);
	free(text);
	return line;
}

static char *answer(struct server *server, const char *line, size_t size)
{
	cJSON *request = NULL, *result = NULL;
	struct iso_error err = {0};
	if (iso_json_parse("the request", line, size, &request, &err) < 0)
		return print_answer(NULL, NULL, CODE_PARSE, err.message);
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(request, "id");
	const cJSON *method = cJSON_GetObjectItemCaseSensitive(request, "method");
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(request, "params");
	char *text;
	if (id == NULL || !cJSON_IsString(method))
		text = print_answer(id, NULL, CODE_REQUEST, "it is no request");
	else if (iso_builtin_authority_answer(server->authority, method->valuestring, params,
					      &result, &err) < 0)
		text = print_answer(id, NULL, CODE_METHOD, err.message);
	else
		text = print_answer(id, result, 0, NULL);
	cJSON_Delete(request);
	return text;
}

/* Answer every whole line; false: the client is to be dropped. */
static bool serve_lines(struct server *server, struct client *client)
{
	char *newline;
	while ((newline = memchr(client->buffer, '\n', client->size)) != NULL) {
		size_t size = (size_t)(newline - client->buffer);
		ISO_AUTO_FREE char *text = answer(server, client->buffer, size);
		/* An answer is small: a client that has no room for it does not read. */
		if (text == NULL ||
		    send(client->fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
			return false;
		client->size -= size + 1;
		memmove(client->buffer, newline + 1, client->size);
	}
	return true;
}

static bool read_client(struct server *server, struct client *client)
{
	if (client->size == client->capacity) {
		size_t capacity = client->capacity > 0 ? client->capacity * 2 : 4096;
		char *grown =
			capacity <= 2 * REQUEST_MAX ? realloc(client->buffer, capacity) : NULL;
		if (grown == NULL)
			return false;
		client->buffer = grown;
		client->capacity = capacity;
	}
	ssize_t count =
		recv(client->fd, client->buffer + client->size, client->capacity - client->size, 0);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (count <= 0)
		return false;
	client->size += (size_t)count;
	client->idle_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), IDLE_MS);
	return serve_lines(server, client);
}

static void serve(struct server *server, int stop_fd)
{
	for (;;) {
		struct pollfd polled[CLIENT_MAX + 2] = {
			{.fd = stop_fd, .events = POLLIN},
			{.fd = server->listen_fd, .events = POLLIN},
		};
		for (size_t i = 0; i < server->count; i++)
			polled[i + 2] =
				(struct pollfd){.fd = server->clients[i].fd, .events = POLLIN};
		size_t count = server->count;
		(void)poll(polled, count + 2, 1000); /* idle clients are looked after meanwhile */
		if (polled[0].revents != 0)
			return;
		int64_t now = iso_clock_mono_ns();
		for (size_t i = count; i-- > 0;) {
			struct client *client = &server->clients[i];
			if ((polled[i + 2].revents != 0 && !read_client(server, client)) ||
			    now >= client->idle_deadline_ns)
				drop(server, i);
		}
		if (polled[1].revents != 0)
			welcome(server);
	}
}

/* A socket that nobody listens on any more is in the way; one that is in use is not taken. */
static int bind_socket(const char *path, struct iso_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path))
		return iso_error_set(err, ISO_ERR_INVALID, ENAMETOOLONG, "listen on \"%s\"", path);
	strcpy(address.sun_path, path);
	ISO_AUTO_CLOSE int fd =
		iso_fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, EADDRINUSE, "listen on \"%s\"", path);
	if (errno == ECONNREFUSED)
		(void)unlink(path); /* bind says what is wrong if this failed */
	/* The mode of the socket that bind makes; the umask is the whole process's. */
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "listen on \"%s\"", path);
	return ISO_TAKE_FD(fd);
}

int iso_authority_serve(struct iso_builtin_authority *authority, const char *socket_path,
			int stop_fd, struct iso_error *err)
{
	struct server *server = calloc(1, sizeof(*server));
	if (server == NULL)
		return iso_error_nomem(err);
	server->authority = authority;
	server->listen_fd = bind_socket(socket_path, err);
	if (server->listen_fd < 0) {
		free(server);
		return -1;
	}
	serve(server, stop_fd);
	while (server->count > 0)
		drop(server, server->count - 1);
	iso_fd_close(server->listen_fd);
	free(server);
	(void)unlink(socket_path); /* a next one would remove it, too */
	return 0;
}
