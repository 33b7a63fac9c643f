/*
 * From a request, on a host, to a plan. Everything about the request that can be wrong is found
 * here or in the survey before it, and before anything runs (RUN-9).
 */
#ifndef ISORUN_PLAN_BUILD_H
#define ISORUN_PLAN_BUILD_H

#include "runner/isorun.h"
#include "runner/plan/survey.h"
#include "sandbox/filter/seccomp_custom.h"
#include "sandbox/host.h"
#include "sandbox/plan.h"

/* What planning needs to know, and the compiled filters that it keeps. All borrowed. */
struct iso_plan_means {
	const struct iso_host *host;
	const struct iso_survey *survey;
	struct iso_seccomp_cache *filters;
};

/*
 * Build the plan for `request`. Reads the host's file system (which system directories there are),
 * changes nothing and starts nothing.
 *
 * Errors: ISO_ERR_INVALID for a wrong request; ISO_ERR_UNSUPPORTED where the workspace cannot be
 * given to a payload without host rights; ISO_ERR_SYSTEM; ISO_ERR_NOMEM. Thread-safe.
 */
int iso_plan_build(const struct iso_request *request, const struct iso_plan_means *means,
		   struct iso_plan *ret_plan, struct iso_error *err);

/* Part of iso_plan_build, in a file of its own (runner/plan/filesystem.c): append the operations
 * that build the payload's file system to `world`, whose other members are set. */
int iso_plan_build_filesystem(const struct iso_request *request, const struct iso_survey *survey,
			      struct iso_world *world, struct iso_error *err);

#endif
