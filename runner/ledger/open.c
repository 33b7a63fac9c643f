/* Neither file may lie where a payload could write it: it would record what it likes (POL-1). */
#include "runner/ledger/open.h"

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/workspace/named_path.h"
#include "runner/workspace/operator_file.h"

#define KEY_FILE_MAX 4096

int iso_audit_key_load(const char *path, const char *workspace, bool must_sign,
		       struct iso_audit_key *ret_key, struct iso_error *err)
{
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file file = {0};
	if (iso_operator_file_read(path, "the key", KEY_FILE_MAX, &file, err) < 0 ||
	    (workspace != NULL &&
	     iso_operator_file_check_place(path, file.path, "the key", workspace, err) < 0) ||
	    iso_audit_key_parse(path, file.text, ret_key, err) < 0)
		return -1;
	if (must_sign && !ret_key->can_sign)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "sign with \"%s\": it is a public key", path);
	return 0;
}

static int check_log_place(const char *path, const char *workspace, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (iso_named_path_open(path, "the audit log", &named, err) < 0)
		return -1;
	return iso_operator_file_check_place(path, named.path, "the audit log", workspace, err);
}

int iso_audit_open(const char *path, const char *key_path, const char *workspace, bool sync,
		   struct iso_audit_log *ret_log, struct iso_error *err)
{
	struct iso_audit_key key;
	if (key_path != NULL && iso_audit_key_load(key_path, workspace, true, &key, err) < 0)
		return -1;
	/* Not even created through a link there; where it lies is known once it is open. */
	if (workspace != NULL &&
	    iso_operator_file_check_place(path, path, "the audit log", workspace, err) < 0)
		return -1;
	if (iso_audit_log_open(path, key_path != NULL ? &key : NULL, sync, ret_log, err) < 0)
		return -1;
	if (workspace != NULL && check_log_place(path, workspace, err) < 0) {
		iso_audit_log_close(ret_log);
		return -1;
	}
	return 0;
}

int iso_audit_require(struct iso_audit_log *log, struct iso_error *err)
{
	struct iso_error reason = {0};
	if (log != NULL && iso_audit_log_reserve(log, &reason) == 0)
		return 0;
	return iso_error_set(
		err, ISO_ERR_DENIED, 0,
		"Audit is required and cannot be recorded; nothing was executed: %.300s",
		log != NULL ? reason.message : "no --audit FILE is given");
}
