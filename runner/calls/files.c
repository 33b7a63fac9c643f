/* The file tools of a call: on the host, by descriptors only (decision 008), and apart from us
 * where a file system of the workspace may keep them waiting for ever. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/file/slow.h"
#include "runner/base/scout.h"
#include "runner/base/text/utf8.h"
#include "runner/calls/session.h"
#include "runner/workspace/file_tools.h"

/* A listing has at most a thousand names of 255 bytes, of which each may take six; what is
 * written is answered in a few words. */
#define ANSWER_LIMIT ((uint64_t)2 << 20)

/* The first `output_limit` bytes of a tool's answer, and the digest of all of it (TOOL-3). */
static int keep_output(iso_result *result, const struct iso_text *text, uint64_t limit,
		       struct iso_error *err)
{
	struct iso_captured *output = &result->output;
	bool too_long = text->size > limit;
	size_t size = too_long ? iso_utf8_trim_end((const uint8_t *)text->data, (size_t)limit)
			       : text->size;
	output->data = malloc(size + 1);
	if (output->data == NULL)
		return iso_error_nomem(err);
	memcpy(output->data, text->data, size);
	output->size = size;
	output->truncated = text->truncated || too_long;
	iso_sha256_hex(text->data, text->size, output->sha256);
	result->has_output = true;
	return 0;
}

static int run_tool(const struct iso_performance *performance, struct iso_text *text,
		    struct iso_error *ret_reason)
{
	const struct iso_loaded_policy *loaded = &performance->session->loaded;
	const struct iso_call *call = performance->call;
	switch (call->tool->id) {
	case ISO_TOOL_READ:
		return iso_tool_read(&loaded->workspace, call->path, loaded->policy.max_file_bytes,
				     text, ret_reason);
	case ISO_TOOL_LIST:
		return iso_tool_list(&loaded->workspace, call->path, text, ret_reason);
	default:
		return iso_tool_write(&loaded->workspace, call->path, call->text,
				      call->expected_sha256, text, ret_reason);
	}
}

/* What a scout says first; the text follows. */
struct report {
	int status;
	bool truncated;
	struct iso_error reason;
};

static void run_apart(int reply_fd, const void *argument)
{
	struct iso_text text = {0};
	struct report report = {0};
	report.status = run_tool(argument, &text, &report.reason);
	report.truncated = text.truncated;
	if (iso_fd_write_all(reply_fd, &report, sizeof(report)) == 0 && report.status == 0)
		(void)iso_fd_write_all(reply_fd, text.data, text.size);
}

/* Where a scout cannot come back from, nobody knows what it had done before. */
static int refuse_silence(int failed, const char *place, struct iso_error *err)
{
	iso_error_set(err, ISO_ERR_SYSTEM, failed, "use the workspace's files");
	return iso_error_hint(
		err, "the file system mounted on \"%s\" (FUSE, or over a network) %s", place,
		failed == ETIMEDOUT ? "does not answer; a write may or may not have happened"
				    : "had to be asked by a process of its own");
}

/* Run the tool in a process that can be left alone with it. */
static int send_scout(const struct iso_performance *performance, const char *slow_place,
		      struct iso_text *text, struct iso_error *ret_reason)
{
	const struct iso_loaded_policy *loaded = &performance->session->loaded;
	const struct iso_scout_work work = {run_apart, performance, loaded->workspace.root_fd};
	const struct iso_patience patience =
		iso_patience_for(loaded->policy.timeout_ms, performance->cancel_fd);
	struct report report;
	ISO_AUTO_FREE char *reply = NULL;
	size_t size = 0;
	int failed = iso_scout_send(&work, &patience,
				    sizeof(report) + loaded->policy.max_file_bytes + ANSWER_LIMIT,
				    &reply, &size, NULL);
	if (failed == 0 && size < sizeof(report))
		failed = EIO;
	if (failed != 0)
		return refuse_silence(failed, slow_place, ret_reason);
	memcpy(&report, reply, sizeof(report));
	if (report.status < 0) {
		*ret_reason = report.reason;
		return -1;
	}
	text->size = size - sizeof(report);
	memmove(reply, reply + sizeof(report), text->size);
	text->data = ISO_TAKE_PTR(reply);
	text->truncated = report.truncated;
	return 0;
}

static int use_tool(const struct iso_performance *performance, struct iso_text *text,
		    struct iso_error *ret_reason)
{
	ISO_AUTO_FREE char *slow_place = iso_slow_find(performance->session->loaded.workspace.root);
	return slow_place == NULL ? run_tool(performance, text, ret_reason)
				  : send_scout(performance, slow_place, text, ret_reason);
}

/* What the kernel refused a file tool is the tool's failure, not one of a launch. */
static void fail_tool(iso_result *result)
{
	struct iso_outcome *outcome = &result->outcome;
	if (outcome->status != ISO_STATUS_LAUNCH_FAILED)
		return;
	outcome->status = ISO_STATUS_FAILED;
	outcome->error_class = ISO_CLASS_TOOL_FAILED;
}

static int answer(const struct iso_performance *performance, const struct iso_text *text,
		  iso_result **ret_result, struct iso_error *err)
{
	iso_result *result;
	if (iso_result_new(&result, err) < 0)
		return -1;
	result->outcome.status = ISO_STATUS_COMPLETED;
	result->outcome.payload_exit = -1;
	if (keep_output(result, text, performance->decision->output_limit_bytes, err) < 0) {
		iso_result_free(result);
		return -1;
	}
	*ret_result = result;
	return 0;
}

int iso_perform_files(const struct iso_performance *performance, iso_result **ret_result,
		      struct iso_error *err)
{
	struct iso_text text = {0};
	struct iso_error reason = {0};
	if (use_tool(performance, &text, &reason) < 0) {
		if (iso_result_new_refused(&reason, ret_result, err) < 0)
			return -1;
		fail_tool(*ret_result);
		return 0;
	}
	int status = answer(performance, &text, ret_result, err);
	free(text.data);
	return status;
}
