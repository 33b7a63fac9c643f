/*
 * audit/: the chain finds every change of a byte, and every line that is missing, moved or new
 * (AUD-1 to AUD-4). On a small log that is tried exhaustively.
 */
#include "tests/audit_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/attest.h"
#include "audit/log.h"
#include "audit/verify.h"

#define LINES 3

static int verify(const struct iso_audit_key *key, const struct iso_audit_checkpoint *checkpoint,
		  struct iso_audit_verdict *verdict)
{
	const char *const paths[] = {path};
	struct iso_error err = {0};
	return iso_audit_verify(paths, 1, key, checkpoint, verdict, &err);
}

static void test_AUD_1_what_a_line_holds(void **state)
{
	(void)state;
	struct iso_audit_verdict verdict;
	size_t size;
	write_log(1, NULL);
	char *text = read_log(&size);
	text[size] = '\0';
	static const char begin[] = "{\"record\":{\"seq\":1,\"prev\":"
				    "\"0000000000000000000000000000000000000000000000000000"
				    "000000000000\",\"schema\":\"isorun.audit/"
				    "1\",\"time\":\"2023-11-14T22:13:20.123Z\",\"id\":"
				    "\"0123456789abcdef0123456789abcdef\",\"tool\":\"host.bash\","
				    "\"status\":\"failed\",\"error\":"
				    "\"CommandFailed\",\"exit_code\":3,\"arguments\":\"[omitted]\","
				    "\"output\":\"[omitted]\","
				    "\"request_sha256\":\"aa\"";
	assert_memory_equal(text, begin, sizeof(begin) - 1);
	free(text);
	assert_int_equal(verify(NULL, NULL, &verdict), 0);
	assert_int_equal(verdict.head.seq, 1);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Every byte, flipped in every bit; the bad line is the one that holds it, or the one after. */
static void flip_everything(const struct iso_audit_key *key)
{
	struct iso_audit_verdict verdict;
	size_t size;
	char *text = read_log(&size);
	uint64_t line = 1;
	for (size_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			text[i] ^= (char)(1 << bit);
			put_log(text, size);
			if (verify(key, NULL, &verdict) == 0)
				fail_msg("byte %zu, bit %d: not found", i, bit);
			if (verdict.line != line && verdict.line != line + 1)
				fail_msg("byte %zu of line %d: line %d is blamed", i, (int)line,
					 (int)verdict.line);
			text[i] ^= (char)(1 << bit);
		}
		line += text[i] == '\n';
	}
	put_log(text, size);
	assert_int_equal(verify(key, NULL, &verdict), 0);
	free(text);
}

static void test_AUD_2_every_flipped_bit_is_found(void **state)
{
	(void)state;
	write_log(LINES, NULL);
	flip_everything(NULL);
}

static void test_AUD_3_every_flipped_bit_of_a_signed_log_is_found(void **state)
{
	(void)state;
	struct iso_audit_key key;
	assert_int_equal(iso_audit_key_generate(&key, NULL), 0);
	write_log(2, &key);
	flip_everything(&key);
}

/* The log as lines, put together again in another order; -1 ends it. */
static void put_lines(const int *order)
{
	size_t size, length = 0;
	char *text = read_log(&size), *lines[8], *made = calloc(2, size + 1), *rest = NULL;
	int count = 0;
	text[size] = '\0';
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		lines[count++] = line;
	for (; *order >= 0; order++)
		length += (size_t)sprintf(made + length, "%s\n", lines[*order]);
	put_log(made, length);
	free(made);
	free(text);
}

static void test_AUD_2_missing_moved_and_new_lines_are_found(void **state)
{
	(void)state;
	static const struct {
		int order[8];
		uint64_t bad;
	} rows[] = {
		{{1, 2, 3, -1}, 1},	  {{0, 2, 3, -1}, 2},	    {{0, 1, 3, -1}, 3},
		{{1, 0, 2, 3, -1}, 1},	  {{0, 2, 1, 3, -1}, 2},    {{0, 1, 3, 2, -1}, 3},
		{{0, 0, 1, 2, 3, -1}, 2}, {{0, 1, 2, 2, 3, -1}, 4}, {{0, 1, 2, 3, 3, -1}, 5},
		{{3, 2, 1, 0, -1}, 1},	  {{0, 1, 2, 3, 0, -1}, 5},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_audit_verdict verdict;
		write_log(4, NULL);
		put_lines(rows[i].order);
		assert_int_equal(verify(NULL, NULL, &verdict), -1);
		assert_int_equal(verdict.line, rows[i].bad);
		assert_true(verdict.reason[0] != '\0');
	}
}

static void test_AUD_2_a_cut_tail_is_found_against_a_checkpoint(void **state)
{
	(void)state;
	static const int order[] = {0, 1, -1};
	struct iso_audit_key key, other;
	struct iso_audit_verdict verdict;
	struct iso_audit_checkpoint checkpoint;
	struct iso_error err = {0};
	char *text;
	assert_int_equal(iso_audit_key_generate(&key, &err), 0);
	assert_int_equal(iso_audit_key_generate(&other, &err), 0);
	write_log(3, NULL);
	assert_int_equal(verify(NULL, NULL, &verdict), 0);
	assert_int_equal(iso_audit_checkpoint_print("host-a", &verdict.head, &key, &text, &err), 0);
	assert_int_equal(iso_audit_checkpoint_parse(text, &key, &checkpoint, &err), 0);
	assert_int_equal(checkpoint.seq, 3);
	assert_string_equal(checkpoint.hash, verdict.head.hash);
	assert_int_equal(iso_audit_checkpoint_parse(text, &other, &checkpoint, &err), -1);
	assert_int_equal(verify(NULL, &checkpoint, &verdict), 0);
	assert_true(verdict.checkpoint_seen);

	put_lines(order);
	assert_int_equal(verify(NULL, NULL, &verdict), 0); /* alone it cannot be seen */
	assert_int_equal(verify(NULL, &checkpoint, &verdict), -1);
	assert_int_equal(verdict.line, 3);
	struct iso_audit_event another = event;
	another.exit_code = 4; /* a log that was written anew from there on */
	struct iso_audit_log log;
	assert_int_equal(iso_audit_log_open(path, NULL, false, &log, &err), 0);
	assert_int_equal(iso_audit_log_append(&log, &another, NULL, &err), 0);
	iso_audit_log_close(&log);
	assert_int_equal(verify(NULL, NULL, &verdict), 0);
	assert_int_equal(verify(NULL, &checkpoint, &verdict), -1);

	for (size_t i = 0; i < strlen(text); i++) { /* and no byte of a checkpoint may change */
		char *changed = strdup(text);
		changed[i] ^= 1;
		if (iso_audit_checkpoint_parse(changed, &key, &checkpoint, &err) == 0)
			fail_msg("byte %zu of a checkpoint was changed and not found", i);
		free(changed);
	}
	free(text);
}

static void test_AUD_3_signatures(void **state)
{
	(void)state;
	struct iso_audit_key key, other, read;
	struct iso_audit_verdict verdict;
	struct iso_error err = {0};
	char private_pem[ISO_PEM_SIZE], public_pem[ISO_PEM_SIZE];
	assert_int_equal(iso_audit_key_generate(&key, &err), 0);
	assert_int_equal(iso_audit_key_generate(&other, &err), 0);
	iso_audit_key_print(&key, true, private_pem);
	iso_audit_key_print(&key, false, public_pem);
	assert_int_equal(iso_audit_key_parse("it", private_pem, &read, &err), 0);
	assert_true(read.can_sign);
	assert_memory_equal(read.public_key, key.public_key, ISO_KEY_SIZE);
	assert_int_equal(iso_audit_key_parse("it", public_pem, &read, &err), 0);
	assert_false(read.can_sign);
	assert_int_equal(
		iso_audit_key_parse("it", "-----BEGIN PUBLIC KEY-----\nAAAA\n", &read, &err), -1);
	write_log(3, &key);
	assert_int_equal(iso_audit_key_parse("it", public_pem, &read, &err), 0);
	assert_int_equal(verify(&read, NULL, &verdict), 0); /* the public half is enough */
	assert_int_equal(verify(&other, NULL, &verdict), -1);
	assert_string_equal(verdict.reason, "its signature is not of this key");
	write_log(1, NULL);
	assert_int_equal(verify(&read, NULL, &verdict), -1);
	assert_string_equal(verdict.reason, "it is not signed");
}

/* The vectors of RFC 8032, section 7.1, tests 1 and 2. */
static void test_AUD_3_Ed25519_is_that_of_RFC_8032(void **state)
{
	(void)state;
	struct iso_audit_key key = {.can_sign = true};
	uint8_t signature[ISO_SIGNATURE_SIZE];
	static const uint8_t seed[] = {0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda,
				       0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11, 0x4e, 0x0f,
				       0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab, 0xa6, 0x24,
				       0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb};
	static const uint8_t public_key[] = {0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a,
					     0x92, 0xb7, 0x0a, 0xa7, 0x4d, 0x1b, 0x7e, 0xbc,
					     0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4, 0x96, 0x8c,
					     0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c};
	static const uint8_t expected[] = {0x92, 0xa0, 0x09, 0xa9, 0xf0,
					   0xd4, 0xca, 0xb8, 0x72, 0x0e};
	char pem[ISO_PEM_SIZE];
	struct iso_audit_key read;
	memcpy(key.private_key, seed, sizeof(seed));
	iso_audit_key_print(&key, true, pem);
	assert_int_equal(iso_audit_key_parse("it", pem, &read, NULL), 0);
	assert_memory_equal(read.public_key, public_key, sizeof(public_key));
	iso_audit_sign(&read, "\x72", 1, signature);
	assert_memory_equal(signature, expected, sizeof(expected));
	assert_true(iso_audit_signature_is_good(&read, "\x72", 1, signature));
	assert_false(iso_audit_signature_is_good(&read, "\x73", 1, signature));
}

static void test_AUD_4_a_torn_last_line_is_found_and_mended(void **state)
{
	(void)state;
	struct iso_audit_verdict verdict;
	struct iso_audit_log log;
	struct iso_error err = {0};
	size_t size;
	write_log(3, NULL);
	char *text = read_log(&size);
	size_t last = size - 1;
	while (text[last - 1] != '\n')
		last--;
	for (size_t cut = last + 1; cut < size; cut++) { /* a crash at every byte of the third */
		put_log(text, cut);
		assert_int_equal(verify(NULL, NULL, &verdict), -1);
		assert_int_equal(verdict.line, 3);
		assert_int_equal(iso_audit_log_open(path, NULL, false, &log, &err), 0);
		assert_int_equal(iso_audit_log_append(&log, &event, NULL, &err), 0);
		iso_audit_log_close(&log);
		assert_int_equal(verify(NULL, NULL, &verdict), 0);
		assert_int_equal(verdict.head.seq, 3);
	}
	size_t mended_size;
	char *mended = read_log(&mended_size);
	mended[mended_size] = '\0';
	assert_non_null(strstr(mended, "\"torn_bytes\":")); /* and it is said */
	free(mended);
	put_log(text, 10); /* torn in the first line */
	assert_int_equal(iso_audit_log_open(path, NULL, false, &log, &err), 0);
	assert_int_equal(iso_audit_log_append(&log, &event, NULL, &err), 0);
	iso_audit_log_close(&log);
	assert_int_equal(verify(NULL, NULL, &verdict), 0);
	assert_int_equal(verdict.head.seq, 1);
	free(text);
}

static void test_AUD_4_a_full_disk_leaves_the_log_as_it_was(void **state)
{
	(void)state;
	struct iso_audit_verdict verdict;
	struct stat before, after;
	write_log(2, NULL);
	assert_int_equal(stat(path, &before), 0);
	pid_t pid = fork(); /* the limit is for one process only */
	if (pid == 0) {
		struct rlimit limit = {(rlim_t)before.st_size + 100, (rlim_t)before.st_size + 100};
		struct iso_audit_log log;
		struct iso_error err = {0};
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		bool good = iso_audit_log_open(path, NULL, false, &log, &err) == 0 &&
			    iso_audit_log_append(&log, &event, NULL, &err) < 0 &&
			    err.os_errno == EFBIG;
		_exit(good ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(verify(NULL, NULL, &verdict), 0);
	assert_int_equal(verdict.head.seq, 2);
}

static void test_AUD_4_two_writers_and_a_clock_that_jumps(void **state)
{
	(void)state;
	struct iso_audit_verdict verdict;
	struct iso_audit_log one, two;
	struct iso_error err = {0};
	unlink(path);
	assert_int_equal(iso_audit_log_open(path, NULL, false, &one, &err), 0);
	assert_int_equal(iso_audit_log_open(path, NULL, false, &two, &err), 0);
	struct iso_audit_event earlier = event;
	for (int i = 0; i < 10; i++) {
		earlier.unix_ms -= 3600000; /* the order is that of the numbers */
		assert_int_equal(
			iso_audit_log_append(i % 2 == 0 ? &one : &two, &earlier, NULL, &err), 0);
	}
	assert_int_equal(verify(NULL, NULL, &verdict), 0);
	assert_int_equal(verdict.head.seq, 10);

	assert_int_equal(iso_audit_log_rotate(&one, &err), 0); /* and rotation keeps the chain */
	assert_int_equal(iso_audit_log_append(&two, &event, NULL, &err), 0);
	assert_int_equal(iso_audit_log_append(&one, &event, NULL, &err), 0);
	char old[80];
	snprintf(old, sizeof(old), "%s.10", path);
	const char *const both[] = {old, path}, *const wrong[] = {path, old};
	assert_int_equal(iso_audit_verify(both, 2, NULL, NULL, &verdict, &err), 0);
	assert_int_equal(verdict.head.seq, 13);
	assert_int_equal(iso_audit_verify(wrong, 2, NULL, NULL, &verdict, &err), -1);
	assert_int_equal(iso_audit_verify(both + 1, 1, NULL, NULL, &verdict, &err), -1);
	assert_int_equal(verdict.line, 1); /* the file before is missing */
	iso_audit_log_close(&one);
	iso_audit_log_close(&two);
	unlink(old);
}

static void test_AUD_4_what_is_no_log_is_not_appended_to(void **state)
{
	(void)state;
	struct iso_audit_log log;
	struct iso_error err = {0};
	put_log("a letter\nto somebody\n", 21);
	assert_int_equal(iso_audit_log_open(path, NULL, false, &log, &err), 0);
	assert_int_equal(iso_audit_log_append(&log, &event, NULL, &err), -1);
	iso_audit_log_close(&log);
	size_t size;
	char *text = read_log(&size);
	assert_int_equal(size, 21);
	free(text);
	assert_int_equal(iso_audit_log_open("/dev/null", NULL, false, &log, &err), -1);
	assert_int_equal(iso_audit_log_open(directory, NULL, false, &log, &err), -1);
}

static void test_AUD_3_only_receipts_are_exported(void **state)
{
	(void)state;
	static const char *const rows[] = {"", "{}", "[]",
					   "{\"schema\":\"isorun.receipt/2\",\"id\":\"x\"}",
					   "{\"schema\":\"isorun.receipt/1\"}"};
	struct iso_audit_key key;
	struct iso_error err = {0};
	char *json;
	assert_int_equal(iso_audit_key_generate(&key, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(iso_attest(rows[i], strlen(rows[i]), &key, &json, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_AUD_1_what_a_line_holds),
		cmocka_unit_test(test_AUD_2_every_flipped_bit_is_found),
		cmocka_unit_test(test_AUD_3_every_flipped_bit_of_a_signed_log_is_found),
		cmocka_unit_test(test_AUD_2_missing_moved_and_new_lines_are_found),
		cmocka_unit_test(test_AUD_2_a_cut_tail_is_found_against_a_checkpoint),
		cmocka_unit_test(test_AUD_3_signatures),
		cmocka_unit_test(test_AUD_3_Ed25519_is_that_of_RFC_8032),
		cmocka_unit_test(test_AUD_4_a_torn_last_line_is_found_and_mended),
		cmocka_unit_test(test_AUD_4_a_full_disk_leaves_the_log_as_it_was),
		cmocka_unit_test(test_AUD_4_two_writers_and_a_clock_that_jumps),
		cmocka_unit_test(test_AUD_4_what_is_no_log_is_not_appended_to),
		cmocka_unit_test(test_AUD_3_only_receipts_are_exported),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
