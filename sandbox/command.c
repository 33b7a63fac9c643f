/* Printing is complete: what is executed is what is shown. */
#include "sandbox/command.h"

#include <stdlib.h>

void iso_command_done(struct iso_command *command)
{
	iso_strv_done(&command->argv);
	iso_strv_done(&command->env);
	free(command->workdir);
	*command = (struct iso_command){0};
}

static void print_streams(const struct iso_streams *streams, struct iso_json *json, cJSON *object)
{
	iso_json_add_bool(json, object, "merge", streams->merge);
	iso_json_add_text(json, object, "keep", streams->keep == ISO_KEEP_TAIL ? "tail" : "head");
	iso_json_add_text(json, object, "unit", streams->count_characters ? "characters" : "bytes");
	iso_json_add_limit(json, object, "stdout_limit", streams->limits_each[0]);
	iso_json_add_limit(json, object, "stderr_limit", streams->limits_each[1]);
}

void iso_command_print(const struct iso_command *command, struct iso_json *json, cJSON *object)
{
	const struct iso_command_limits *limits = &command->limits;
	iso_json_add_strv(json, object, "argv", command->argv.items);
	iso_json_add_strv(json, object, "environment", command->env.items);
	iso_json_add_text(json, object, "workdir", command->workdir);
	cJSON *printed = iso_json_add_object(json, object, "limits");
	iso_json_add_limit(json, printed, "wall_ms", limits->wall_ms);
	iso_json_add_limit(json, printed, "grace_ms", limits->grace_ms);
	iso_json_add_limit(json, printed, "nofile_soft", limits->nofile_soft_count);
	iso_json_add_limit(json, printed, "nofile_hard", limits->nofile_hard_count);
	iso_json_add_limit(json, printed, "fsize_bytes", limits->fsize_max_bytes);
	iso_json_add_text(json, object, "detached",
			  command->detached == ISO_DETACHED_WAIT ? "wait" : "kill");
	if (command->tty) {
		cJSON *tty = iso_json_add_object(json, object, "tty");
		iso_json_add_u64(json, tty, "rows", command->tty_rows);
		iso_json_add_u64(json, tty, "columns", command->tty_columns);
	} else {
		iso_json_add_null(json, object, "tty");
	}
	print_streams(&command->streams, json, iso_json_add_object(json, object, "streams"));
}
