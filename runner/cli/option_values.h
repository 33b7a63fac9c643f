/* What the files of option handlers share. */
#ifndef ISORUN_CLI_OPTION_VALUES_H
#define ISORUN_CLI_OPTION_VALUES_H

#include "runner/cli/cli.h"

/* Refuse the value of --`option`: always -1. */
int cli_refuse(struct iso_error *err, const char *option, const char *value, const char *rule);

/* A size such as 64M. */
int cli_read_size(const char *option, const char *value, uint64_t *ret, struct iso_error *err);

/* Handlers for the table, in runner/cli/option_mounts.c. */
int cli_apply_ro(struct cli_run *run, const char *value, struct iso_error *err);
int cli_apply_rw(struct cli_run *run, const char *value, struct iso_error *err);
int cli_apply_tmpfs(struct cli_run *run, const char *value, struct iso_error *err);
int cli_apply_hide(struct cli_run *run, const char *value, struct iso_error *err);
int cli_apply_protect(struct cli_run *run, const char *value, struct iso_error *err);
int cli_apply_protect_defaults(struct cli_run *run, const char *value, struct iso_error *err);

#endif
