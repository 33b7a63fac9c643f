/* runner/call_memory: the first call runs, the others get its receipt (RCPT-2). */
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/calls/memory.h"

#define THREADS 16

static int begin(struct iso_call_memory *memory, const char *id, const char *call,
		 struct iso_call_ticket *ticket, char **receipt, struct iso_error *err)
{
	struct iso_answer answer;
	int status = iso_call_memory_begin(memory, id, call, ticket, &answer, err);
	if (status == 0)
		*receipt = answer.receipt;
	return status;
}

static void end(struct iso_call_memory *memory, struct iso_call_ticket *ticket, const char *receipt,
		int exit_code)
{
	const struct iso_answer answer = {(char *)receipt, exit_code};
	iso_call_memory_end(memory, ticket, &answer);
}

static void test_RCPT_2_first_and_later_calls(void **state)
{
	(void)state;
	struct iso_call_memory memory;
	struct iso_call_ticket ticket;
	struct iso_error err = {0};
	char *receipt = NULL;
	assert_int_equal(iso_call_memory_open(NULL, &memory, &err), 0);
	assert_int_equal(begin(&memory, NULL, "[1]", &ticket, &receipt, &err), 1);
	end(&memory, &ticket, "none", 0); /* a call without an id is not kept */
	assert_int_equal(begin(&memory, "a", "[1]", &ticket, &receipt, &err), 1);
	end(&memory, &ticket, "first", 7);
	struct iso_answer answer;
	assert_int_equal(iso_call_memory_begin(&memory, "a", "[1]", &ticket, &answer, &err), 0);
	assert_string_equal(answer.receipt, "first");
	assert_int_equal(answer.exit_code, 7);
	free(answer.receipt);
	assert_int_equal(begin(&memory, "a", "[2]", &ticket, &receipt, &err), -1);
	assert_string_equal(err.message, "Idempotency key reused for different operation");
	assert_int_equal(begin(&memory, "", "[1]", &ticket, &receipt, &err), -1);
	char long_id[ISO_CALL_ID_MAX + 2];
	memset(long_id, 'x', sizeof(long_id) - 1);
	long_id[sizeof(long_id) - 1] = '\0';
	assert_int_equal(begin(&memory, long_id, "[1]", &ticket, &receipt, &err), -1);
	iso_call_memory_close(&memory);
}

static void test_RCPT_2_the_memory_is_bounded(void **state)
{
	(void)state;
	struct iso_call_memory memory;
	struct iso_call_ticket ticket;
	struct iso_error err = {0};
	char *receipt = NULL, id[32];
	assert_int_equal(iso_call_memory_open(NULL, &memory, &err), 0);
	for (int i = 0; i < 3 * ISO_CALLS_IN_MEMORY; i++) {
		snprintf(id, sizeof(id), "%d", i);
		assert_int_equal(begin(&memory, id, "[1]", &ticket, &receipt, &err), 1);
		end(&memory, &ticket, "receipt", 0);
	}
	assert_int_equal(begin(&memory, id, "[1]", &ticket, &receipt, &err), 0); /* the newest */
	free(receipt);
	assert_int_equal(begin(&memory, "0", "[1]", &ticket, &receipt, &err), 1); /* forgotten */
	end(&memory, &ticket, "receipt", 0);
	iso_call_memory_close(&memory);
}

struct crowd {
	struct iso_call_memory memory;
	atomic_int runs, same;
};

static void *call(void *argument)
{
	struct crowd *crowd = argument;
	struct iso_call_ticket ticket;
	struct iso_error err = {0};
	char *receipt = NULL;
	int status = begin(&crowd->memory, "one", "[1]", &ticket, &receipt, &err);
	if (status == 1) {
		atomic_fetch_add(&crowd->runs, 1);
		usleep(50000);
		end(&crowd->memory, &ticket, "the receipt", 0);
	} else if (status == 0 && strcmp(receipt, "the receipt") == 0) {
		atomic_fetch_add(&crowd->same, 1);
	}
	free(receipt);
	return NULL;
}

static void test_RCPT_2_concurrent_duplicates_run_once(void **state)
{
	(void)state;
	struct crowd crowd = {.runs = 0};
	pthread_t threads[THREADS];
	assert_int_equal(iso_call_memory_open(NULL, &crowd.memory, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call, &crowd);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&crowd.runs), 1);
	assert_int_equal(atomic_load(&crowd.same), THREADS - 1);
	iso_call_memory_close(&crowd.memory);
}

static void test_RCPT_2_what_is_on_disk_outlives_the_process(void **state)
{
	(void)state;
	char directory[] = "/tmp/isorun-calls.XXXXXX", command[64];
	struct iso_call_memory memory;
	struct iso_call_ticket ticket;
	struct iso_error err = {0};
	char *receipt = NULL;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(iso_call_memory_open(directory, &memory, &err), 0);
	assert_int_equal(begin(&memory, "a", "[1]", &ticket, &receipt, &err), 1);
	end(&memory, &ticket, "{\"kept\":true}", 3);
	assert_int_equal(begin(&memory, "b", "[1]", &ticket, &receipt, &err), 1);
	close(ticket.fd); /* this one's process dies */
	iso_call_memory_close(&memory);

	assert_int_equal(iso_call_memory_open(directory, &memory, &err), 0);
	assert_int_equal(begin(&memory, "a", "[1]", &ticket, &receipt, &err), 0);
	assert_string_equal(receipt, "{\"kept\":true}");
	free(receipt);
	assert_int_equal(begin(&memory, "a", "[2]", &ticket, &receipt, &err), -1);
	assert_int_equal(begin(&memory, "b", "[1]", &ticket, &receipt, &err), -1);
	assert_non_null(strstr(err.message, "was interrupted"));
	assert_int_equal(begin(&memory, "c", "[1]", &ticket, &receipt, &err), 1);
	end(&memory, &ticket, "c", 0);
	iso_call_memory_close(&memory);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_RCPT_2_first_and_later_calls),
		cmocka_unit_test(test_RCPT_2_the_memory_is_bounded),
		cmocka_unit_test(test_RCPT_2_concurrent_duplicates_run_once),
		cmocka_unit_test(test_RCPT_2_what_is_on_disk_outlives_the_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
