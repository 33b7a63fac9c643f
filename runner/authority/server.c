/*
 * One thread, one poll loop: an answer takes microseconds, and single use is the state directory's
 * doing. A client that sends too much, or nothing for a minute, is dropped.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "runner/authority/authority.h"
#include "runner/base/cleanup.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json_read.h"
#include "runner/wire/line.h"
#include "runner/wire/rpc.h"
#include "runner/wire/socket.h"

#define CLIENT_MAX 256
#define IDLE_MS	   60000

struct client {
	int fd; /* owned */
	struct iso_wire_lines lines;
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
	iso_wire_lines_done(&server->clients[index].lines);
	server->clients[index] = server->clients[--server->count];
}

/* Only root and the user who runs the authority may ask. */
static void welcome(struct server *server)
{
	int fd = iso_wire_accept(server->listen_fd);
	if (fd < 0)
		return;
	if (server->count == CLIENT_MAX || !iso_wire_peer_is_ours(fd)) {
		iso_fd_close(fd);
		return;
	}
	server->clients[server->count++] = (struct client){
		.fd = fd,
		.lines = {.line_max = ISO_JSON_SIZE_MAX},
		.idle_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), IDLE_MS),
	};
}

/* The answer to one line, as a line that the caller frees; NULL: no memory. */
static char *answer(struct server *server, const char *line, size_t size)
{
	ISO_CLEANUP(iso_rpc_done) struct iso_rpc_request request = {.tree = NULL};
	struct iso_error err = {0};
	enum iso_rpc_code code = ISO_RPC_INTERNAL;
	cJSON *result = NULL;
	if (iso_rpc_read(line, size, &request, &code, &err) < 0 ||
	    iso_builtin_authority_answer(server->authority, request.method, request.params, &result,
					 &code, &err) < 0)
		return iso_rpc_print_error(request.id, code, err.message);
	return iso_rpc_print_result(request.id, result);
}

/* Answer every whole line; false: the client is to be dropped. */
static bool serve_lines(struct server *server, struct client *client)
{
	const char *line;
	size_t size;
	while ((line = iso_wire_take(&client->lines, &size)) != NULL) {
		ISO_AUTO_FREE char *text = answer(server, line, size);
		/* An answer is small: a client that has no room for it now does not read. */
		if (text == NULL || !iso_wire_send(client->fd, text, iso_clock_mono_ns()))
			return false;
	}
	return true;
}

static bool read_client(struct server *server, struct client *client)
{
	if (iso_wire_receive(&client->lines, client->fd) != ISO_WIRE_OPEN)
		return false;
	client->idle_deadline_ns = iso_deadline_after(iso_clock_mono_ns(), IDLE_MS);
	return serve_lines(server, client);
}

/* When the next client has been idle for too long. */
static int64_t next_deadline(const struct server *server)
{
	int64_t deadline = ISO_NEVER;
	for (size_t i = 0; i < server->count; i++)
		deadline = iso_deadline_min(deadline, server->clients[i].idle_deadline_ns);
	return deadline;
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
		int wait_ms = iso_deadline_poll_ms(next_deadline(server), iso_clock_mono_ns());
		if (poll(polled, count + 2, wait_ms) < 0)
			continue; /* interrupted, or short of memory for a moment */
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

int iso_authority_serve(struct iso_builtin_authority *authority, const char *socket_path,
			int stop_fd, struct iso_error *err)
{
	struct server *server = calloc(1, sizeof(*server));
	if (server == NULL)
		return iso_error_nomem(err);
	server->authority = authority;
	server->listen_fd = iso_wire_listen(socket_path, err);
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
