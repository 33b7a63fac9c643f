/*
 * From a request, on a host, to a plan. Everything about the request that can be wrong is found
 * here, before anything runs (RUN-9).
 */
#ifndef ISORUN_PLAN_BUILD_H
#define ISORUN_PLAN_BUILD_H

#include "runner/isorun.h"
#include "runner/workspace/named_path.h"
#include "sandbox/host.h"
#include "sandbox/launch/idmap.h"
#include "sandbox/plan.h"
#include "sandbox/filter/seccomp_custom.h"

/* What holds where a request, and the policy behind it, say nothing. */
#define ISO_DEFAULT_PIDS	1024
#define ISO_DEFAULT_NOFILE_HARD 65536
#define ISO_DEFAULT_TMP_BYTES	(UINT64_C(512) << 20)

/* The same for memory, in bytes, on a machine that has `machine_bytes`. */
uint64_t iso_default_memory(uint64_t machine_bytes);

/* What planning needs to know, and what it keeps between plans. All borrowed. */
struct iso_plan_means {
	const struct iso_host *host;
	struct iso_idmap_cache *idmaps;
	struct iso_seccomp_custom *seccomp; /* the plan refers to it until the next one is made */
};

/*
 * Build the plan for `request`. Reads the host's file system (which system directories there are,
 * who owns the workspace), changes nothing.
 *
 * Errors: ISO_ERR_INVALID for a wrong request; ISO_ERR_UNSUPPORTED where the workspace cannot be
 * given to a payload without host rights; ISO_ERR_SYSTEM; ISO_ERR_NOMEM.
 */
int iso_plan_build(const struct iso_request *request, const struct iso_plan_means *means,
		   struct iso_plan *ret_plan, struct iso_error *err);

/* Part of iso_plan_build, in a file of its own (runner/plan/filesystem.c): append the operations
 * that build the payload's file system. `workspace_mapped` says whether its owner can be mapped. */
int iso_plan_build_filesystem(const struct iso_request *request,
			      const struct iso_named_path *workspace, bool workspace_mapped,
			      struct iso_plan *plan, struct iso_error *err);

#endif
