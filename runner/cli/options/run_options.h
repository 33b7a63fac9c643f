/* Options of `run` that take a function, in files of their own. */
#ifndef ISORUN_CLI_OPTIONS_RUN_OPTIONS_H
#define ISORUN_CLI_OPTIONS_RUN_OPTIONS_H

#include "runner/cli/cli.h"

/* The mounts (runner/cli/options/run_mounts.c); `target` is a struct cli_run. */
int cli_apply_ro(void *target, const char *value, struct iso_error *err);
int cli_apply_rw(void *target, const char *value, struct iso_error *err);
int cli_apply_tmpfs(void *target, const char *value, struct iso_error *err);
int cli_apply_hide(void *target, const char *value, struct iso_error *err);
int cli_apply_protect(void *target, const char *value, struct iso_error *err);
int cli_apply_protect_defaults(void *target, const char *value, struct iso_error *err);

#endif
