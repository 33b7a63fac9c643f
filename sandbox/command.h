/*
 * A command is pure data: what will run in a world, how long, and what becomes of its output. As a
 * world it holds no descriptors, pids or clocks.
 */
#ifndef ISORUN_SANDBOX_COMMAND_H
#define ISORUN_SANDBOX_COMMAND_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "runner/base/text/json.h"
#include "runner/base/text/strv.h"
#include "runner/isorun.h"

/* What holds for each of its processes, and for the time it has. */
struct iso_command_limits {
	uint64_t wall_ms; /* or ISO_UNLIMITED */
	uint64_t grace_ms;
	uint64_t nofile_soft_count, nofile_hard_count;
	uint64_t fsize_max_bytes; /* or ISO_UNLIMITED */
};

/* What is kept of standard output and standard error. */
struct iso_streams {
	bool capture; /* retain and hash; not printed: it is about what the caller is told */
	bool merge;   /* standard error goes where standard output goes */
	enum iso_keep keep;
	bool count_characters;	 /* the limits are characters instead of bytes */
	uint64_t limits_each[2]; /* of stdout, stderr */
};

struct iso_command {
	struct iso_strv argv;
	struct iso_strv env; /* the whole environment, in the order in which it was built */
	char *workdir;	     /* owned; absolute, inside */
	struct iso_command_limits limits;
	enum iso_detached detached;
	bool tty;
	uint16_t tty_rows, tty_columns;
	struct iso_streams streams;
};

/* Release what a command owns; a zeroed one is fine. */
void iso_command_done(struct iso_command *command);

/* Add all that is printed of a command to a JSON object, in a fixed order. */
void iso_command_print(const struct iso_command *command, struct iso_json *json, cJSON *object);

#endif
