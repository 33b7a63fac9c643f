/* What a request left, as an object that the caller asks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/engine/receipt.h"
#include "runner/isorun.h"

int iso_result_new(struct iso_result **ret_result, struct iso_error *err)
{
	struct iso_result *result = calloc(1, sizeof(*result));
	if (result == NULL)
		return iso_error_nomem(err);
	if (iso_random_hex(ISO_RESULT_ID_BYTES, result->id) < 0) {
		free(result);
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	}
	result->tool = "run";
	result->started_unix_ms = iso_clock_unix_ms();
	*ret_result = result;
	return 0;
}

int iso_result_new_refused(const struct iso_error *reason, iso_result **ret_result,
			   struct iso_error *err)
{
	struct iso_result *result;
	if (iso_result_new(&result, err) < 0)
		return -1;
	iso_classify_refused(reason, &result->outcome);
	*ret_result = result;
	return 0;
}

enum iso_status iso_result_status(const iso_result *result)
{
	return result->outcome.status;
}

int iso_result_exit_code(const iso_result *result)
{
	return result->outcome.exit_code;
}

const struct iso_error *iso_result_error(const iso_result *result)
{
	return result->outcome.error.code != ISO_OK ? &result->outcome.error : NULL;
}

enum iso_class iso_result_class(const iso_result *result)
{
	return result->outcome.error_class;
}

int iso_result_receipt(const iso_result *result, char **ret_json, struct iso_error *err)
{
	return iso_receipt_print(result, ret_json, err);
}

int iso_result_diff_text(const iso_result *result, char **ret_text, struct iso_error *err)
{
	if (!result->has_diff) {
		*ret_text = strdup("");
		return *ret_text == NULL ? iso_error_nomem(err) : 0;
	}
	return iso_diff_print(&result->diff, ret_text, err);
}

void iso_result_free(iso_result *result)
{
	if (result == NULL)
		return;
	iso_diff_done(&result->diff);
	for (int i = 0; i < 2; i++)
		free(result->streams[i].data);
	free(result->workspace);
	free(result->workdir);
	free(result->output.data);
	free(result);
}
