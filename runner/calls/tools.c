/* Which function runs which tool. */
#include <stddef.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/calls/session.h"

static const struct {
	enum iso_tool_id id;
	int (*perform)(const struct iso_performance *performance, iso_result **ret_result,
		       struct iso_error *err);
} performers[] = {
	{ISO_TOOL_READ, iso_perform_files},	   {ISO_TOOL_LIST, iso_perform_files},
	{ISO_TOOL_WRITE, iso_perform_files},	   {ISO_TOOL_EXEC, iso_perform_command},
	{ISO_TOOL_GIT_DIFF, iso_perform_git_diff}, {ISO_TOOL_BASH, iso_perform_bash},
};

int iso_perform(const struct iso_performance *performance, iso_result **ret_result,
		struct iso_error *err)
{
	for (size_t i = 0; i < ISO_COUNT(performers); i++) {
		if (performers[i].id == performance->call->tool->id)
			return performers[i].perform(performance, ret_result, err);
	}
	return iso_error_set(err, ISO_ERR_INTERNAL, 0, "run the tool \"%s\": nobody does",
			     performance->call->tool->name);
}
