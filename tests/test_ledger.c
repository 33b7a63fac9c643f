/* runner/ledger: one desk, one line, one receipt; threads that wait for the disk share a flush. */
#include "tests/test.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "audit/verify.h"
#include "runner/base/clock.h"
#include "runner/ledger/ledger.h"

#define THREADS 16
#define EACH	50

static char directory[] = "/tmp/isorun-ledger.XXXXXX";
static char path[64];

static int make_directory(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/log", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(directory);
}

static iso_result *refused(void)
{
	const struct iso_error reason = {.code = ISO_ERR_DENIED, .message = "no"};
	iso_result *result = NULL;
	assert_int_equal(iso_result_new_refused(&reason, &result, NULL), 0);
	return result;
}

static struct iso_ledger open_ledger(bool no_sync)
{
	const struct iso_ledger_options options = {.log_path = path, .no_sync = no_sync};
	struct iso_ledger ledger = {.has_log = false};
	struct iso_error err = {0};
	assert_int_equal(iso_ledger_open(&options, &ledger, &err), 0);
	assert_true(ledger.has_log);
	return ledger;
}

static uint64_t verified_records(void)
{
	const char *const paths[] = {path};
	struct iso_audit_verdict verdict = {0};
	struct iso_error err = {0};
	if (iso_audit_verify(paths, 1, NULL, NULL, &verdict, &err) < 0)
		fail_msg("%s", err.message);
	return verdict.head.seq;
}

static const char *text_of(const cJSON *json, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(json, name));
}

static void test_AUD_1_the_desk_fills_in_what_a_result_does_not_know(void **state)
{
	(void)state;
	struct iso_ledger ledger = {.has_log = false};
	const struct iso_ledger_entry entry = {
		.tool = "shell.exec",
		.policy_sha256 = "0123456789012345678901234567890123456789012345678901234567890123",
		.request_json = "[\"shell.exec\",{}]",
		.received_mono_ns = iso_clock_mono_ns() - 5000000,
	};
	struct iso_error err = {0};
	iso_result *result = refused();
	char *receipt = NULL;
	assert_int_equal(iso_ledger_finish(&ledger, &entry, result, &receipt, &err), 0);
	cJSON *json = cJSON_Parse(receipt);
	assert_string_equal(text_of(json, "tool"), "shell.exec");
	assert_string_equal(text_of(json, "policy_sha256"), entry.policy_sha256);
	assert_string_equal(text_of(json, "error"), "Denied: no");
	assert_non_null(text_of(json, "request_sha256"));
	assert_true(cJSON_GetObjectItem(json, "elapsed_ms")->valuedouble >= 5);
	assert_null(cJSON_GetObjectItem(json, "audit"));
	cJSON_Delete(json);
	free(receipt);
	iso_result_free(result);
}

static void test_AUD_4_the_receipt_names_its_line(void **state)
{
	(void)state;
	struct iso_ledger ledger = open_ledger(false);
	const struct iso_ledger_entry entry = {.tool = "run", .received_mono_ns = 0};
	struct iso_error err = {0};
	for (int i = 1; i <= 3; i++) {
		iso_result *result = refused();
		char *receipt = NULL;
		assert_int_equal(iso_ledger_finish(&ledger, &entry, result, &receipt, &err), 0);
		cJSON *json = cJSON_Parse(receipt);
		const cJSON *audit = cJSON_GetObjectItem(json, "audit");
		assert_true(cJSON_IsTrue(cJSON_GetObjectItem(audit, "recorded")));
		assert_int_equal(cJSON_GetObjectItem(audit, "seq")->valueint, i);
		assert_int_equal(strlen(text_of(audit, "hash")), 64);
		cJSON_Delete(json);
		free(receipt);
		iso_result_free(result);
	}
	iso_ledger_close(&ledger);
	assert_int_equal(verified_records(), 3);
	(void)unlink(path);
}

static void test_AUD_4_a_line_that_cannot_be_written_is_told(void **state)
{
	(void)state;
	struct iso_ledger ledger = open_ledger(false);
	const struct iso_ledger_entry entry = {.tool = "run", .received_mono_ns = 0};
	struct rlimit saved, none = {0};
	struct iso_error err = {0};
	iso_result *result = refused();
	char *receipt = NULL;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	none.rlim_max = saved.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(iso_ledger_finish(&ledger, &entry, result, &receipt, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	assert_non_null(strstr(receipt, "\"audit_recorded\":false"));
	free(receipt);
	iso_result_free(result);
	result = refused();
	assert_int_equal(iso_ledger_finish(&ledger, &entry, result, &receipt, &err), 0);
	assert_non_null(strstr(receipt, "\"audit_recorded\":true"));
	free(receipt);
	iso_result_free(result);
	iso_ledger_close(&ledger);
	assert_int_equal(verified_records(), 1);
	(void)unlink(path);
}

static void test_AUD_4_no_log_is_no_record(void **state)
{
	(void)state;
	struct iso_ledger ledger = {.has_log = false};
	struct iso_error err = {0};
	assert_int_equal(iso_ledger_require(&ledger, &err), -1);
	assert_int_equal(err.code, ISO_ERR_DENIED);
	const struct iso_ledger_options unsigned_after_all = {.key_path = "/etc/hostname"};
	assert_int_equal(iso_ledger_open(&unsigned_after_all, &ledger, &err), -1);
	assert_int_equal(err.code, ISO_ERR_INVALID);
}

struct crowd {
	struct iso_ledger ledger;
	bool seen[THREADS * EACH + 1];
	pthread_mutex_t lock;
	int wrong;
};

static void *record_many(void *argument)
{
	struct crowd *crowd = argument;
	for (int i = 0; i < EACH; i++) {
		const struct iso_ledger_entry entry = {.tool = "run", .received_mono_ns = 0};
		iso_result *result = refused();
		char *receipt = NULL;
		int status = iso_ledger_finish(&crowd->ledger, &entry, result, &receipt, NULL);
		pthread_mutex_lock(&crowd->lock);
		uint64_t seq = result->audit_seq;
		if (status < 0 || !result->audit_recorded || seq < 1 || seq > THREADS * EACH ||
		    crowd->seen[seq])
			crowd->wrong++;
		else
			crowd->seen[seq] = true;
		pthread_mutex_unlock(&crowd->lock);
		free(receipt);
		iso_result_free(result);
	}
	return NULL;
}

static void test_AUD_4_threads_share_one_chain(void **state)
{
	(void)state;
	static struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[THREADS];
	crowd.ledger = open_ledger(false);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record_many, &crowd), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.wrong, 0);
	assert_true(crowd.ledger.log.flush.on_disk == THREADS * EACH);
	iso_ledger_close(&crowd.ledger);
	assert_int_equal(verified_records(), THREADS * EACH);
	(void)unlink(path);
}

/* Flushes as a disk that is slow once, fails once and then works does them. */
static struct {
	bool scripted;
	atomic_int count;
	sem_t entered, go;
} disk;

int fdatasync(int fd)
{
	int number = disk.scripted ? atomic_fetch_add(&disk.count, 1) + 1 : 3;
	if (number == 1) {
		sem_post(&disk.entered);
		sem_wait(&disk.go);
		return 0;
	}
	if (number == 2) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

struct one {
	struct iso_ledger *ledger;
	bool recorded;
};

static void *record_one(void *argument)
{
	struct one *one = argument;
	const struct iso_ledger_entry entry = {.tool = "run", .received_mono_ns = 0};
	iso_result *result = refused();
	char *receipt = NULL;
	if (iso_ledger_finish(one->ledger, &entry, result, &receipt, NULL) == 0)
		one->recorded = result->audit_recorded;
	free(receipt);
	iso_result_free(result);
	return NULL;
}

static uint64_t lines_written(struct iso_ledger *ledger)
{
	pthread_mutex_lock(&ledger->log.lock);
	uint64_t written = ledger->log.flush.written;
	pthread_mutex_unlock(&ledger->log.lock);
	return written;
}

/* A line that comes while another is flushed, and whose own flush then fails, takes nothing with
 * it that was promised. */
static void test_AUD_4_a_promised_line_stays(void **state)
{
	(void)state;
	struct iso_ledger ledger = open_ledger(false);
	struct one first = {&ledger, false}, second = {&ledger, true}, third = {&ledger, false};
	pthread_t threads[2];
	sem_init(&disk.entered, 0, 0);
	sem_init(&disk.go, 0, 0);
	disk.scripted = true;
	assert_int_equal(pthread_create(&threads[0], NULL, record_one, &first), 0);
	sem_wait(&disk.entered);
	assert_int_equal(pthread_create(&threads[1], NULL, record_one, &second), 0);
	while (lines_written(&ledger) < 2)
		sched_yield();
	sem_post(&disk.go);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_true(first.recorded);
	assert_false(second.recorded);
	assert_int_equal(verified_records(), 1);
	record_one(&third);
	disk.scripted = false;
	assert_true(third.recorded);
	iso_ledger_close(&ledger);
	assert_int_equal(verified_records(), 2);
	(void)unlink(path);
}

/* A log that could not be opened again after it was taken away is there as soon as it can be. */
static void test_AUD_4_a_log_comes_back(void **state)
{
	(void)state;
	struct iso_ledger ledger = open_ledger(false);
	struct one before = {&ledger, false}, none = {&ledger, true}, after = {&ledger, false};
	record_one(&before);
	assert_true(before.recorded);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	record_one(&none);
	assert_false(none.recorded);
	assert_int_equal(rmdir(path), 0);
	record_one(&after);
	assert_true(after.recorded);
	iso_ledger_close(&ledger);
	(void)unlink(path);
}

/* The mark of a flush that failed: no line that it covers is promised. */
static void test_AUD_4_a_flush_that_fails_promises_nothing(void **state)
{
	(void)state;
	struct iso_ledger ledger = open_ledger(false);
	const struct iso_ledger_entry entry = {.tool = "run", .received_mono_ns = 0};
	struct iso_error err = {0};
	iso_result *result = refused();
	char *receipt = NULL;
	assert_int_equal(iso_ledger_finish(&ledger, &entry, result, &receipt, &err), 0);
	assert_true(result->audit_recorded);
	free(receipt);
	iso_result_free(result);
	ledger.log.flush.failed_first = ledger.log.flush.written + 1;
	ledger.log.flush.failed_last = ledger.log.flush.written + 1;
	ledger.log.flush.failed_errno = 5;
	result = refused();
	assert_int_equal(iso_ledger_finish(&ledger, &entry, result, &receipt, &err), 0);
	assert_false(result->audit_recorded);
	assert_non_null(strstr(receipt, "\"recorded\":false"));
	free(receipt);
	iso_result_free(result);
	iso_ledger_close(&ledger);
	(void)verified_records();
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_AUD_1_the_desk_fills_in_what_a_result_does_not_know),
		cmocka_unit_test(test_AUD_4_the_receipt_names_its_line),
		cmocka_unit_test(test_AUD_4_a_line_that_cannot_be_written_is_told),
		cmocka_unit_test(test_AUD_4_no_log_is_no_record),
		cmocka_unit_test(test_AUD_4_threads_share_one_chain),
		cmocka_unit_test(test_AUD_4_a_promised_line_stays),
		cmocka_unit_test(test_AUD_4_a_log_comes_back),
		cmocka_unit_test(test_AUD_4_a_flush_that_fails_promises_nothing),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
