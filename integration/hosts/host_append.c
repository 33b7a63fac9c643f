/*
 * Many processes append to one audit log: host_append LOG PROCESSES RECORDS [KEY]. Each waits for
 * the others before it begins. Lines are not flushed one by one: the chain is what is tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/log.h"

static int append_many(const char *path, int records, int gate)
{
	struct iso_audit_log log;
	struct iso_error err = {0};
	char byte;
	if (iso_audit_log_open(path, NULL, false, &log, &err) < 0)
		return 1;
	(void)!read(gate, &byte, 1); /* the end of the pipe: all are there */
	for (int i = 0; i < records; i++) {
		const struct iso_audit_event event = {
			.id = "id",
			.tool = "run",
			.status = "completed",
			.exit_code = i % 256,
			.unix_ms = 1700000000000 + i,
		};
		if (iso_audit_log_append(&log, &event, NULL, &err) < 0) {
			fprintf(stderr, "host_append: %s\n", err.message);
			return 1;
		}
	}
	iso_audit_log_close(&log);
	return 0;
}

int main(int argc, char **argv)
{
	int gate[2], failed = 0, status;
	if (argc < 4 || pipe(gate) < 0)
		return 2;
	int processes = atoi(argv[2]);
	for (int i = 0; i < processes; i++) {
		if (fork() == 0) {
			close(gate[1]);
			_exit(append_many(argv[1], atoi(argv[3]), gate[0]));
		}
	}
	close(gate[1]);
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
