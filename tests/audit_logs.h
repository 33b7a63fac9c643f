/* Audit logs for the tests of them, in a directory of their own: written, read, put as they are. */
#ifndef ISORUN_TESTS_AUDIT_LOGS_H
#define ISORUN_TESTS_AUDIT_LOGS_H

#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/log.h"

static char directory[] = "/tmp/isorun-audit.XXXXXX";
static char path[64];

static inline int make_directory(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/log", directory);
	return 0;
}

static inline int remove_directory(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static const struct iso_audit_event event = {
	.id = "0123456789abcdef0123456789abcdef",
	.tool = "host.bash",
	.status = "failed",
	.error_class = "CommandFailed",
	.request_sha256 = "aa",
	.exit_code = 3,
	.unix_ms = 1700000000123,
};

/* A fresh log of `count` lines, signed where there is a key. */
static inline void write_log(int count, const struct iso_audit_key *key)
{
	struct iso_audit_log log;
	struct iso_error err = {0};
	unlink(path);
	assert_int_equal(iso_audit_log_open(path, key, false, &log, &err), 0);
	for (int i = 0; i < count; i++)
		assert_int_equal(iso_audit_log_append(&log, &event, NULL, &err), 0);
	iso_audit_log_close(&log);
}

static inline char *read_log(size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1 << 20);
	assert_non_null(file);
	*ret_size = fread(text, 1, 1 << 20, file);
	fclose(file);
	return text;
}

static inline void put_log(const char *text, size_t size)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	fclose(file);
}

#endif
