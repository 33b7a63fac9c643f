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
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/json_read.h"
#include "runner/base/text/strv.h"
#include "runner/cli/cli.h"
#include "runner/ledger/key.h"
#include "runner/ledger/ledger.h"
#include "runner/workspace/operator_file.h"

#define RECEIPT_MAX ((size_t)256 << 20)

/* The options of all actions. */
struct audit_options {
	const char *key, *checkpoint, *origin;
	const char *tool, *status, *id; /* what `show` is to leave out */
};

#define OPTION(member) CLI_MEMBER(struct audit_options, member)

const struct cli_option cli_audit_verify_options[] = {
	{"key", CLI_TEXT, OPTION(key), "KEY", "public key that must have signed every line"},
	{"checkpoint", CLI_TEXT, OPTION(checkpoint), "FILE",
	 "a checkpoint that must be on the log's way"},
	{0},
};
const struct cli_option cli_audit_show_options[] = {
	{"tool", CLI_TEXT, OPTION(tool), "NAME", "only requests of this tool"},
	{"status", CLI_TEXT, OPTION(status), "STATUS", "only those that ended so"},
	{"id", CLI_TEXT, OPTION(id), "ID", "only the one of this id"},
	{0},
};
const struct cli_option cli_audit_checkpoint_options[] = {
	{"key", CLI_TEXT, OPTION(key), "KEY", "private key that signs it"},
	{"origin", CLI_TEXT, OPTION(origin), "NAME", "whose log it is (default: isorun)"},
	{0},
};
const struct cli_option cli_audit_rotate_options[] = {
	{"key", CLI_TEXT, OPTION(key), "KEY", "private key that signs the first line"},
	{0},
};
const struct cli_option cli_audit_export_options[] = {
	{"key", CLI_TEXT, OPTION(key), "KEY", "private key that signs the statement"},
	{0},
};

/* An action with its options read and the files that it is about. */
struct action {
	struct audit_options options;
	char **files;
	size_t file_count;
};

/* Read the command line and do it; the exit code. */
static int act(const struct cli_command *command, char **argv,
	       int (*perform)(const struct action *action, struct iso_error *err))
{
	struct action action = {.options = {.origin = "isorun"}};
	struct iso_error err = {0};
	int status = cli_options_read(command, &action.options, argv, &action.files, &err);
	if (status > 0)
		return cli_explain_command(command);
	while (status == 0 && action.files[action.file_count] != NULL)
		action.file_count++;
	return status < 0 || perform(&action, &err) < 0 ? cli_fail(&err) : 0;
}

static int load_checkpoint(const char *path, const struct iso_audit_key *key,
			   struct iso_audit_checkpoint *ret_checkpoint, struct iso_error *err)
{
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file file = {0};
	if (iso_operator_file_read(path, "the checkpoint", 4096, &file, err) < 0)
		return -1;
	return iso_audit_checkpoint_parse(file.text, key, ret_checkpoint, err);
}

static int verify(const struct action *action, struct iso_error *err)
{
	const char *key_path = action->options.key, *checkpoint_path = action->options.checkpoint;
	char **files = action->files;
	size_t count = action->file_count;
	struct iso_audit_key key;
	struct iso_audit_checkpoint checkpoint;
	struct iso_audit_verdict verdict;
	if (key_path != NULL && iso_audit_key_load(key_path, NULL, false, &key, err) < 0)
		return -1;
	if (checkpoint_path != NULL && key_path == NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read the checkpoint: --key is needed to believe it");
	if (checkpoint_path != NULL && load_checkpoint(checkpoint_path, &key, &checkpoint, err) < 0)
		return -1;
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

static const char *text_of(const cJSON *object, const char *name)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsString(member) || cJSON_IsRaw(member) ? member->valuestring : "-";
}

static bool passes(const struct audit_options *filter, const cJSON *record)
{
	return (filter->tool == NULL || strcmp(filter->tool, text_of(record, "tool")) == 0) &&
	       (filter->status == NULL || strcmp(filter->status, text_of(record, "status")) == 0) &&
	       (filter->id == NULL || strcmp(filter->id, text_of(record, "id")) == 0);
}

static int show_line(const char *line, size_t size, const struct audit_options *filter,
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
static int show(const struct action *action, struct iso_error *err)
{
	char **files = action->files;
	FILE *log = action->file_count == 1 ? fopen(files[0], "re") : NULL;
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
		status = show_line(line, (size_t)size, &action->options, err);
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

static int keygen(const struct action *action, struct iso_error *err)
{
	char **files = action->files;
	struct iso_audit_key key;
	char private_pem[ISO_PEM_SIZE], public_pem[ISO_PEM_SIZE], id[ISO_SHA256_HEX_SIZE];
	if (action->file_count != 1)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "make a key: one file name is needed");
	ISO_AUTO_FREE char *public_path = iso_strf("%s.pub", files[0]);
	if (public_path == NULL)
		return iso_error_nomem(err);
	if (iso_audit_key_generate(&key, err) < 0)
		return -1;
	iso_audit_key_print(&key, true, private_pem);
	iso_audit_key_print(&key, false, public_pem);
	iso_audit_key_id(&key, id);
	if (write_new(files[0], private_pem, 0600, err) < 0 ||
	    write_new(public_path, public_pem, 0644, err) < 0)
		return -1;
	printf("%s\n", id);
	return fflush(stdout);
}

static int checkpoint(const struct action *action, struct iso_error *err)
{
	const char *key_path = action->options.key;
	char **files = action->files;
	size_t count = action->file_count;
	struct iso_audit_key key;
	struct iso_audit_verdict verdict;
	ISO_AUTO_FREE char *text = NULL;
	if (key_path == NULL || count == 0)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "make a checkpoint: --key KEY and a file are needed");
	/* Only what verifies is worth a signature. */
	if (iso_audit_key_load(key_path, NULL, true, &key, err) < 0 ||
	    iso_audit_verify((const char *const *)files, count, NULL, NULL, &verdict, err) < 0 ||
	    iso_audit_checkpoint_print(action->options.origin, &verdict.head, &key, &text, err) < 0)
		return -1;
	return fputs(text, stdout) < 0 ? -1 : fflush(stdout);
}

static int rotate(const struct action *action, struct iso_error *err)
{
	struct iso_ledger ledger;
	if (action->file_count != 1)
		return iso_error_set(err, ISO_ERR_INVALID, 0, "rotate: one file is needed");
	const struct iso_ledger_options options = {
		.log_path = action->files[0],
		.key_path = action->options.key,
	};
	if (iso_ledger_open(&options, &ledger, err) < 0)
		return -1;
	int status = iso_audit_log_rotate(&ledger.log, err);
	iso_ledger_close(&ledger);
	return status;
}

static int export(const struct action *action, struct iso_error *err)
{
	const char *key_path = action->options.key;
	char **files = action->files;
	struct iso_audit_key key;
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file receipt = {0};
	ISO_AUTO_FREE char *json = NULL;
	if (key_path == NULL || action->file_count != 1)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "export a receipt: --key KEY and its file are needed");
	if (iso_audit_key_load(key_path, NULL, true, &key, err) < 0 ||
	    iso_operator_file_read(files[0], "the receipt", RECEIPT_MAX, &receipt, err) < 0 ||
	    iso_attest(receipt.text, receipt.size, &key, &json, err) < 0)
		return -1;
	return cli_print_line(json);
}

int cli_audit_verify(const struct cli_command *command, char **argv)
{
	return act(command, argv, verify);
}

int cli_audit_show(const struct cli_command *command, char **argv)
{
	return act(command, argv, show);
}

int cli_audit_checkpoint(const struct cli_command *command, char **argv)
{
	return act(command, argv, checkpoint);
}

int cli_audit_rotate(const struct cli_command *command, char **argv)
{
	return act(command, argv, rotate);
}

int cli_audit_export(const struct cli_command *command, char **argv)
{
	return act(command, argv, export);
}

int cli_audit_keygen(const struct cli_command *command, char **argv)
{
	return act(command, argv, keygen);
}

/* An action that is none. */
int cli_audit(const struct cli_command *command, char **argv)
{
	struct iso_error err = {0};
	if (argv[0] != NULL && strcmp(argv[0], "--help") == 0)
		return cli_explain_command(command);
	iso_error_set(&err, ISO_ERR_INVALID, 0,
		      "read \"%s\": verify, show, keygen, checkpoint, rotate or export is needed",
		      argv[0] != NULL ? argv[0] : "");
	return cli_fail(&err);
}
