/* The one clone from which every execution starts. */
#ifndef ISORUN_SANDBOX_LAUNCH_LAUNCH_H
#define ISORUN_SANDBOX_LAUNCH_LAUNCH_H

#include "sandbox/cgroup/cgroup.h"
#include "sandbox/launch/prepare.h"
#include "sandbox/launch/spawn.h"

/*
 * Clone the child into its namespaces and into `cgroup` (NULL: none), where it sets itself up and
 * waits for iso_prepared_release. It reports over the control pair of `prepared`, which must stay
 * untouched until that reports or closes.
 *
 * Errors: ISO_ERR_LAUNCH; nothing runs then.
 */
int iso_launch(struct iso_prepared *prepared, const struct iso_cgroup *cgroup,
	       struct iso_process *ret_process, struct iso_error *err);

#endif
