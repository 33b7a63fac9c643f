/* Neither file may lie where a payload could write it: it would record what it likes (POL-1). */
#include "runner/ledger/key.h"

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/ledger/ledger.h"
#include "runner/workspace/operator_file.h"

#define KEY_FILE_MAX 4096

int iso_audit_key_load(const char *path, const struct iso_writable *writable, bool must_sign,
		       struct iso_audit_key *ret_key, struct iso_error *err)
{
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file file = {0};
	if (iso_operator_file_read(path, "the key", KEY_FILE_MAX, &file, err) < 0 ||
	    (writable != NULL &&
	     iso_writable_refuse(writable, path, &file.named, "the key", err) < 0) ||
	    iso_audit_key_parse(path, file.text, ret_key, err) < 0)
		return -1;
	if (must_sign && !ret_key->can_sign)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "sign with \"%s\": it is a public key", path);
	return 0;
}

static int check_log_place(const char *path, const struct iso_writable *writable,
			   struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (iso_named_path_open(path, "the audit log", &named, err) < 0)
		return -1;
	return iso_writable_refuse(writable, path, &named, "the audit log", err);
}

static int open_log(const struct iso_ledger_options *options, struct iso_audit_log *ret_log,
		    struct iso_error *err)
{
	const char *path = options->log_path;
	const struct iso_writable *writable = options->writable;
	bool sync = !options->no_sync;
	struct iso_audit_key key;
	if (options->key_path != NULL &&
	    iso_audit_key_load(options->key_path, writable, true, &key, err) < 0)
		return -1;
	/* Not even created through a link there; where it lies is known once it is open. */
	if (writable != NULL && iso_writable_refuse(writable, path, NULL, "the audit log", err) < 0)
		return -1;
	if (iso_audit_log_open(path, options->key_path != NULL ? &key : NULL, sync, ret_log, err) <
	    0)
		return -1;
	if (writable != NULL && check_log_place(path, writable, err) < 0) {
		iso_audit_log_close(ret_log);
		return -1;
	}
	return 0;
}

int iso_ledger_open(const struct iso_ledger_options *options, struct iso_ledger *ret_ledger,
		    struct iso_error *err)
{
	ret_ledger->has_log = false;
	if (options->log_path == NULL && options->key_path != NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "sign with \"%s\": there is no audit log (--audit FILE)",
				     options->key_path);
	if (options->log_path == NULL)
		return 0;
	if (open_log(options, &ret_ledger->log, err) < 0)
		return -1;
	ret_ledger->has_log = true;
	return 0;
}

void iso_ledger_close(struct iso_ledger *ledger)
{
	if (ledger->has_log)
		iso_audit_log_close(&ledger->log);
	ledger->has_log = false;
}

int iso_ledger_require(struct iso_ledger *ledger, struct iso_error *err)
{
	struct iso_error reason = {0};
	if (ledger->has_log && iso_audit_log_reserve(&ledger->log, &reason) == 0)
		return 0;
	return iso_error_set(
		err, ISO_ERR_DENIED, 0,
		"Audit is required and cannot be recorded; nothing was executed: %.300s",
		ledger->has_log ? reason.message : "no --audit FILE is given");
}
