/* runner/wire: lines from a peer that sends what it likes, and JSON-RPC in them. */
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/wire/line.h"
#include "runner/wire/rpc.h"
#include "runner/wire/socket.h"

#define LINE_MAX_SIZE 64

struct wire {
	int ours, peer;
	struct iso_wire_lines lines;
};

static struct wire open_wire(void)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	return (struct wire){pair[0], pair[1], {.line_max = LINE_MAX_SIZE}};
}

static void close_wire(struct wire *wire)
{
	close(wire->ours);
	if (wire->peer >= 0)
		close(wire->peer);
	iso_wire_lines_done(&wire->lines);
}

static void say(const struct wire *wire, const char *text)
{
	assert_int_equal(write(wire->peer, text, strlen(text)), strlen(text));
}

static void expect_line(struct wire *wire, const char *expected)
{
	size_t size;
	const char *line = iso_wire_take(&wire->lines, &size);
	if (expected == NULL) {
		assert_null(line);
		return;
	}
	assert_non_null(line);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(line, expected, size);
}

static void test_lines_come_whole_however_they_arrive(void **state)
{
	(void)state;
	struct wire wire = open_wire();
	expect_line(&wire, NULL);
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN); /* nothing */
	say(&wire, "on");
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN);
	expect_line(&wire, NULL);
	say(&wire, "e\n\ntwo\nthr");
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN);
	expect_line(&wire, "one");
	expect_line(&wire, "");
	expect_line(&wire, "two");
	expect_line(&wire, NULL);
	say(&wire, "ee\n");
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN);
	expect_line(&wire, "three");
	say(&wire, "never whole");
	close(wire.peer);
	wire.peer = -1;
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN);
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_CLOSED);
	expect_line(&wire, NULL);
	close_wire(&wire);
}

static void test_a_line_is_as_long_as_its_owner_allows(void **state)
{
	(void)state;
	char longest[LINE_MAX_SIZE], text[LINE_MAX_SIZE + 2];
	memset(longest, 'x', sizeof(longest));
	longest[LINE_MAX_SIZE - 1] = '\0';
	snprintf(text, sizeof(text), "%s\n", longest);
	struct wire wire = open_wire();
	say(&wire, text);
	say(&wire, text);
	for (int i = 0; i < 2; i++) { /* with its newline it fills what there is, again and again */
		assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN);
		expect_line(&wire, longest);
	}
	snprintf(text, sizeof(text), "%sx\n", longest);
	say(&wire, text);
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_OPEN);
	expect_line(&wire, NULL);
	assert_int_equal(iso_wire_receive(&wire.lines, wire.ours), ISO_WIRE_TOO_LONG);
	close_wire(&wire);
}

static void test_sending_ends_at_the_deadline(void **state)
{
	(void)state;
	struct wire wire = open_wire();
	size_t size = (size_t)4 << 20; /* more than a socket holds */
	char *text = malloc(size + 1);
	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	assert_true(iso_wire_send(wire.ours, "short\n", iso_clock_mono_ns()));
	assert_false(iso_wire_send(wire.ours, text, iso_clock_mono_ns()));
	close(wire.peer);
	wire.peer = -1;
	assert_false(iso_wire_send(wire.ours, "gone\n", INT64_MAX)); /* and no SIGPIPE */
	free(text);
	close_wire(&wire);
}

static void test_only_an_abandoned_socket_is_replaced(void **state)
{
	(void)state;
	char directory[] = "/tmp/isorun-wire.XXXXXX", path[64];
	struct iso_error err = {0};
	struct stat st;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/name", directory);
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	close(file);
	assert_int_equal(iso_wire_listen(path, &err), -1);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(path), 0);
	int first = iso_wire_listen(path, &err);
	assert_true(first >= 0);
	assert_int_equal(iso_wire_listen(path, &err), -1); /* somebody listens */
	close(first);
	int second = iso_wire_listen(path, &err);
	assert_true(second >= 0);
	close(second);
	assert_int_equal(iso_wire_listen("", &err), -1);
	assert_int_equal(iso_wire_connect(""), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

static enum iso_rpc_code code_of(const char *line)
{
	struct iso_rpc_request request = {.tree = NULL};
	enum iso_rpc_code code = 0;
	struct iso_error err = {0};
	assert_int_equal(iso_rpc_read(line, strlen(line), &request, &code, &err), -1);
	assert_true(err.message[0] != '\0');
	iso_rpc_done(&request);
	return code;
}

static void test_what_is_no_request_has_its_code(void **state)
{
	(void)state;
	assert_int_equal(code_of("{"), ISO_RPC_PARSE);
	assert_int_equal(code_of("\xff"), ISO_RPC_PARSE);
	assert_int_equal(code_of("[]"), ISO_RPC_REQUEST);
	assert_int_equal(code_of("{\"id\":1}"), ISO_RPC_REQUEST);
	assert_int_equal(code_of("{\"method\":\"x\"}"), ISO_RPC_REQUEST);
	assert_int_equal(code_of("{\"id\":1,\"method\":2}"), ISO_RPC_REQUEST);
}

/* An id is what its sender made it, larger than any number of ours included. */
static void test_ids_come_back_as_they_came(void **state)
{
	(void)state;
	static const char *const ids[] = {"1", "\"a\\\"b\"", "123456789012345678901234567890",
					  "1.50"};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char line[128], expected[192];
		struct iso_rpc_request request;
		enum iso_rpc_code code;
		struct iso_error err = {0};
		snprintf(line, sizeof(line), "{\"id\":%s,\"method\":\"m\",\"params\":[]}", ids[i]);
		assert_int_equal(iso_rpc_read(line, strlen(line), &request, &code, &err), 0);
		assert_string_equal(request.method, "m");
		assert_true(cJSON_IsArray(request.params));
		char *answer = iso_rpc_print_error(request.id, ISO_RPC_BUSY, "later");
		snprintf(expected, sizeof(expected),
			 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32000,\"message\":"
			 "\"later\"}}\n",
			 ids[i]);
		assert_string_equal(answer, expected);
		free(answer);
		iso_rpc_done(&request);
	}
	char *answer = iso_rpc_print_error(NULL, ISO_RPC_PARSE, "no JSON");
	assert_non_null(strstr(answer, "\"id\":null"));
	free(answer);
}

static void test_only_the_answer_to_the_request_counts(void **state)
{
	(void)state;
	static const char *const others[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}",
		"{\"jsonrpc\":\"1.0\",\"id\":7,\"result\":{}}",
		"{\"id\":7,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"x\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":7,",
	};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(iso_rpc_read_answer(others[i], strlen(others[i]), 7));
	char *request = iso_rpc_print_request(7, "take", "{\"a\":1}");
	assert_string_equal(request, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"take\",\"params\":"
				     "{\"a\":1}}\n");
	free(request);
	cJSON *result = cJSON_CreateObject();
	cJSON *id = cJSON_CreateNumber(7);
	char *line = iso_rpc_print_result(id, result);
	assert_non_null(line);
	result = iso_rpc_read_answer(line, strlen(line), 7);
	assert_true(cJSON_IsObject(result));
	cJSON_Delete(result);
	cJSON_Delete(id);
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_come_whole_however_they_arrive),
		cmocka_unit_test(test_a_line_is_as_long_as_its_owner_allows),
		cmocka_unit_test(test_sending_ends_at_the_deadline),
		cmocka_unit_test(test_only_an_abandoned_socket_is_replaced),
		cmocka_unit_test(test_what_is_no_request_has_its_code),
		cmocka_unit_test(test_ids_come_back_as_they_came),
		cmocka_unit_test(test_only_the_answer_to_the_request_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
