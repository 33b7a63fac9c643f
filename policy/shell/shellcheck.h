/*
 * The static precheck of a command line (SHELL-1): a seat belt against what is plainly destructive
 * or an attempt to escape. Not the sandbox: that holds whatever this lets pass.
 */
#ifndef ISORUN_POLICY_SHELL_SHELLCHECK_H
#define ISORUN_POLICY_SHELL_SHELLCHECK_H

#include "runner/isorun.h"

/*
 * Judge `command`, to be run in `workdir` of the workspace `root` (both absolute and normal).
 *
 * 0, or -1 with ISO_ERR_DENIED and the reason, such as "recursive removal of /"; ISO_ERR_NOMEM.
 */
int iso_shell_check(const char *command, const char *root, const char *workdir,
		    struct iso_error *err);

#endif
