/* audit/log on what is no log of its own. */
#include "tests/audit_logs.h"

#include <fcntl.h>
#include <unistd.h>

/* F007: nobody's last line is cut off, be it only one that ends in no newline. */
static void test_F007_a_file_that_is_no_log_stays_as_it_is(void **state)
{
	(void)state;
	size_t log_size;
	write_log(2, NULL);
	char *text = read_log(&log_size);
	const struct {
		const char *tail;
		size_t tail_size;
		bool behind_a_log, torn;
	} rows[] = {
		{"no newline", 10, false, false}, {"no newline", 10, true, false},
		{"{\"rec", 6, true, true},	  {"{\"rec", 6, false, true},
		{"{\"rex", 6, true, false},	  {"{\"record\":{\0\0", 13, true, true},
		{"\0\0\0\0", 4, true, true},	  {"line\nand a half", 15, false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iso_audit_log log;
		struct iso_error err = {0};
		char content[4096];
		size_t size = rows[i].behind_a_log ? log_size : 0, size_after;
		memcpy(content, text, size);
		memcpy(content + size, rows[i].tail, rows[i].tail_size);
		size += rows[i].tail_size;
		put_log(content, size);
		assert_int_equal(iso_audit_log_open(path, NULL, false, &log, &err), 0);
		assert_int_equal(iso_audit_log_append(&log, &event, NULL, &err),
				 rows[i].torn ? 0 : -1);
		iso_audit_log_close(&log);
		char *after = read_log(&size_after);
		if (!rows[i].torn) {
			assert_int_equal(size_after, size);
			assert_memory_equal(after, content, size);
			assert_non_null(strstr(err.message, "its last line is no record"));
		}
		free(after);
	}
	free(text);
}

/* F007: a link is told as such. F006: nor does a rotation take somebody's "log.new". */
static void test_F007_names_that_are_not_the_logs(void **state)
{
	(void)state;
	struct iso_audit_log log;
	struct iso_error err = {0};
	char link_path[80], new_path[80], text[16] = "";
	snprintf(link_path, sizeof(link_path), "%s/link", directory);
	snprintf(new_path, sizeof(new_path), "%s.new", path);
	write_log(1, NULL);
	assert_int_equal(symlink(path, link_path), 0);
	assert_int_equal(iso_audit_log_open(link_path, NULL, false, &log, &err), -1);
	assert_non_null(strstr(err.message, "it is a symbolic link"));
	unlink(link_path);
	int fd = open(new_path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, "mine", 4), 4);
	assert_int_equal(iso_audit_log_open(path, NULL, false, &log, &err), 0);
	assert_int_equal(iso_audit_log_rotate(&log, &err), 0);
	iso_audit_log_close(&log);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 4);
	assert_int_equal(access(new_path, F_OK), 0);
	close(fd);
	unlink(new_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_F007_a_file_that_is_no_log_stays_as_it_is),
		cmocka_unit_test(test_F007_names_that_are_not_the_logs),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
