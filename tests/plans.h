/* Plans for the tests of them: an ordinary host, a workspace of its own, a request that is fine. */
#ifndef ISORUN_TESTS_PLANS_H
#define ISORUN_TESTS_PLANS_H

#include "tests/test.h"

#include <unistd.h>

#include "runner/plan/build.h"

#define GIB (UINT64_C(1) << 30)

static char workspace[] = "/tmp/isorun-plan.XXXXXX";
static const char *const argv_true[] = {"true", NULL};

static const struct iso_host ordinary = {
	.euid = 4321, .egid = 4322, .memory_bytes = 64 * GIB, .nofile_hard_count = 20000};

static inline struct iso_request base_request(void)
{
	struct iso_request request;
	iso_request_init(&request);
	request.argv = argv_true;
	request.workspace = workspace;
	return request;
}

static inline int build_on(const struct iso_host *host, const struct iso_request *request,
			   struct iso_plan *plan, struct iso_error *err)
{
	struct iso_idmap_cache idmaps;
	struct iso_seccomp_cache filters;
	struct iso_survey survey = {.can_be_mapped = false};
	iso_idmap_cache_init(&idmaps, 0);
	iso_seccomp_cache_init(&filters);
	const struct iso_plan_means means = {host, &survey, &filters};
	int status = iso_survey_take(request, host, &idmaps, &survey, err);
	if (status == 0)
		status = iso_plan_build(request, &means, plan, err);
	iso_survey_done(&survey);
	iso_seccomp_cache_done(&filters);
	iso_idmap_cache_done(&idmaps);
	return status;
}

static inline int build(const struct iso_request *request, struct iso_plan *plan,
			struct iso_error *err)
{
	return build_on(&ordinary, request, plan, err);
}

static inline int make_workspace(void **state)
{
	(void)state;
	return mkdtemp(workspace) == NULL ? -1 : 0;
}

static inline int remove_workspace(void **state)
{
	(void)state;
	return rmdir(workspace);
}

#endif
