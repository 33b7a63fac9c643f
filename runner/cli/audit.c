/* `isorun audit`: verify, show, keygen, checkpoint, rotate, export. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/attest.h"
#include "audit/verify.h"
#include "runner/base/array.h"
#include "runner/ledger/open.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json_read.h"
#include "runner/base/text/strv.h"
#include "runner/cli/cli.h"
#include "runner/cli/words.h"
#include "runner/workspace/operator_file.h"

#define RECEIPT_MAX ((size_t)256 << 20)

static int fail(const struct iso_error *err)
{
	cli_print_error(err);
	return CLI_EXIT_FAILED;
}

static int load_checkpoint(const char *path, const struct iso_audit_key *key,
			   struct iso_audit_checkpoint *ret_checkpoint, struct iso_error *err)
{
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file file = {0};
	if (iso_operator_file_read(path, "the checkpoint", 4096, &file, err) < 0)
		return -1;
	return iso_audit_checkpoint_parse(file.text, key, ret_checkpoint, err);
}

static int verify(char **argv, struct iso_error *err)
{
	const char *key_path = NULL, *checkpoint_path = NULL;
	struct iso_audit_key key;
	struct iso_audit_checkpoint checkpoint;
	struct iso_audit_verdict verdict;
	char **files;
	const struct cli_word words[] = {
		{"key", &key_path, NULL},
		{"checkpoint", &checkpoint_path, NULL},
		{0},
	};
	if (cli_words_read(words, argv, &files, err) < 0 ||
	    (key_path != NULL && iso_audit_key_load(key_path, NULL, false, &key, err) < 0))
		return -1;
	if (checkpoint_path != NULL && key_path == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read the checkpoint: --key is needed to believe it");
	if (checkpoint_path != NULL && load_checkpoint(checkpoint_path, &key, &checkpoint, err) < 0)
		return -1;
	size_t count = 0;
	while (files[count] != NULL)
		count++;
	if (count == 0)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "verify the audit log: none is named");
	if (iso_audit_verify((const char *const *)files, count, key_path != NULL ? &key : NULL,
			     checkpoint_path != NULL ? &checkpoint : NULL, &verdict, err) < 0)
		return -1;
	printf("%" PRIu64 " records, chain intact%s%s\nhead %s\n", verdict.head.seq,
	       key_path != NULL ? ", every line signed by this key" : ", signatures not checked",
	       verdict.checkpoint_seen ? ", checkpoint found" : "", verdict.head.hash);
	return fflush(stdout);
}

/* What `show` is to leave out. */
struct filter {
	const char *tool, *status, *id;
};

static const char *text_of(const cJSON *object, const char *name)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsString(member) || cJSON_IsRaw(member) ? member->valuestring : "-";
}

static bool passes(const struct filter *filter, const cJSON *record)
{
	return (filter->tool == NULL || strcmp(filter->tool, text_of(record, "tool")) == 0) &&
	       (filter->status == NULL || strcmp(filter->status, text_of(record, "status")) == 0) &&
	       (filter->id == NULL || strcmp(filter->id, text_of(record, "id")) == 0);
}

static int show_line(const char *line, size_t size, const struct filter *filter,
		     struct iso_error *err)
{
	cJSON *root;
	if (iso_json_parse("a line of the audit log", line, size, &root, err) < 0)
		return -1;
	const cJSON *record = cJSON_GetObjectItemCaseSensitive(root, "record");
	if (record == NULL) {
		cJSON_Delete(root);
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "show the audit log: a line of it is no record");
	}
	if (passes(filter, record))
		printf("%6s  %s  %-16s  %-14s  %4s  %-20s  %s\n", text_of(record, "seq"),
		       text_of(record, "time"), text_of(record, "tool"), text_of(record, "status"),
		       text_of(record, "exit_code"), text_of(record, "error"),
		       text_of(record, "id"));
	cJSON_Delete(root);
	return 0;
}

/* A table; whether the log is whole is `verify`'s to say, and what is no line ends it. */
static int show(char **argv, struct iso_error *err)
{
	struct filter filter = {0};
	char **files;
	const struct cli_word words[] = {
		{"tool", &filter.tool, NULL},
		{"status", &filter.status, NULL},
		{"id", &filter.id, NULL},
		{0},
	};
	if (cli_words_read(words, argv, &files, err) < 0)
		return -1;
	FILE *log = files[0] != NULL && files[1] == NULL ? fopen(files[0], "re") : NULL;
	if (log == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, files[0] != NULL ? errno : 0,
				     "show the audit log: one file is needed");
	printf("%6s  %-24s  %-16s  %-14s  %4s  %-20s  %s\n", "seq", "time", "tool", "status",
	       "exit", "error", "id");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t size;
	int status = 0;
	while (status == 0 && (size = getline(&line, &capacity, log)) > 0)
		status = show_line(line, (size_t)size, &filter, err);
	free(line);
	(void)fclose(log); /* it was only read */
	return status < 0 ? -1 : fflush(stdout);
}

static int write_new(const char *path, const char *text, mode_t mode, struct iso_error *err)
{
	ISO_AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || iso_fd_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "write the key \"%s\"", path);
	return 0;
}

static int keygen(char **argv, struct iso_error *err)
{
	struct iso_audit_key key;
	char private_pem[ISO_PEM_SIZE], public_pem[ISO_PEM_SIZE], id[ISO_SHA256_HEX_SIZE];
	if (argv[0] == NULL || argv[1] != NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "make a key: one file name is needed");
	ISO_AUTO_FREE char *public_path = iso_strf("%s.pub", argv[0]);
	if (public_path == NULL)
		return iso_error_nomem(err);
	if (iso_audit_key_generate(&key, err) < 0)
		return -1;
	iso_audit_key_print(&key, true, private_pem);
	iso_audit_key_print(&key, false, public_pem);
	iso_audit_key_id(&key, id);
	if (write_new(argv[0], private_pem, 0600, err) < 0 ||
	    write_new(public_path, public_pem, 0644, err) < 0)
		return -1;
	printf("%s\n", id);
	return fflush(stdout);
}

static int checkpoint(char **argv, struct iso_error *err)
{
	const char *key_path = NULL, *origin = "isorun";
	struct iso_audit_key key;
	struct iso_audit_verdict verdict;
	ISO_AUTO_FREE char *text = NULL;
	char **files;
	const struct cli_word words[] = {{"key", &key_path, NULL}, {"origin", &origin, NULL}, {0}};
	if (cli_words_read(words, argv, &files, err) < 0)
		return -1;
	if (key_path == NULL || files[0] == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "make a checkpoint: --key KEY and a file are needed");
	size_t count = 0;
	while (files[count] != NULL)
		count++;
	/* Only what verifies is worth a signature. */
	if (iso_audit_key_load(key_path, NULL, true, &key, err) < 0 ||
	    iso_audit_verify((const char *const *)files, count, NULL, NULL, &verdict, err) < 0 ||
	    iso_audit_checkpoint_print(origin, &verdict.head, &key, &text, err) < 0)
		return -1;
	return fputs(text, stdout) < 0 ? -1 : fflush(stdout);
}

static int rotate(char **argv, struct iso_error *err)
{
	const char *key_path = NULL;
	struct iso_audit_log log;
	char **files;
	const struct cli_word words[] = {{"key", &key_path, NULL}, {0}};
	if (cli_words_read(words, argv, &files, err) < 0)
		return -1;
	if (files[0] == NULL || files[1] != NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "rotate: one file is needed");
	if (iso_audit_open(files[0], key_path, NULL, true, &log, err) < 0)
		return -1;
	int status = iso_audit_log_rotate(&log, err);
	iso_audit_log_close(&log);
	return status;
}

static int export(char **argv, struct iso_error *err)
{
	const char *key_path = NULL;
	struct iso_audit_key key;
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file receipt = {0};
	ISO_AUTO_FREE char *json = NULL;
	char **files;
	const struct cli_word words[] = {{"key", &key_path, NULL}, {0}};
	if (cli_words_read(words, argv, &files, err) < 0)
		return -1;
	if (key_path == NULL || files[0] == NULL || files[1] != NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "export a receipt: --key KEY and its file are needed");
	if (iso_audit_key_load(key_path, NULL, true, &key, err) < 0 ||
	    iso_operator_file_read(files[0], "the receipt", RECEIPT_MAX, &receipt, err) < 0 ||
	    iso_attest(receipt.text, receipt.size, &key, &json, err) < 0)
		return -1;
	return cli_print_line(json);
}

static const struct {
	const char *name;
	int (*run)(char **argv, struct iso_error *err);
} actions[] = {
	{"verify", verify},	    {"show", show},	{"keygen", keygen},
	{"checkpoint", checkpoint}, {"rotate", rotate}, {"export", export},
};

int cli_audit(char **argv)
{
	struct iso_error err = {0};
	for (size_t i = 0; argv[0] != NULL && i < ISO_COUNT(actions); i++) {
		if (strcmp(actions[i].name, argv[0]) == 0)
			return actions[i].run(argv + 1, &err) == 0 ? 0 : fail(&err);
	}
	iso_error_set(&err, ISO_ERR_INVALID, 0,
		      "read \"%s\": verify, show, keygen, checkpoint, rotate or export is needed",
		      argv[0] != NULL ? argv[0] : "");
	return fail(&err);
}
