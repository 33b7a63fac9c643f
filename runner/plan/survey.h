/*
 * What planning has to know of the workspace and only the host can say. Looking is apart from
 * planning, because it may take trying: planning itself makes no process and changes nothing.
 */
#ifndef ISORUN_PLAN_SURVEY_H
#define ISORUN_PLAN_SURVEY_H

#include "runner/isorun.h"
#include "runner/workspace/named_path.h"
#include "runner/workspace/writable.h"
#include "sandbox/host.h"
#include "sandbox/launch/idmap.h"

struct iso_survey {
	struct iso_writable writable; /* owned; the workspace, then the sources of writable binds */
	bool can_be_mapped;	      /* the workspace's owner can appear as the payload */
};

static inline const struct iso_named_path *iso_survey_workspace(const struct iso_survey *survey)
{
	return &survey->writable.places[0];
}

/*
 * Look at the workspace of `request`. Where the host is privileged and its file system not a known
 * one, whether that can be id-mapped is tried once and remembered in `idmaps`.
 *
 * Errors: ISO_ERR_INVALID (RUN-9), ISO_ERR_DENIED (iso_writable_check), ISO_ERR_NOMEM. Thread-safe.
 */
int iso_survey_take(const struct iso_request *request, const struct iso_host *host,
		    struct iso_idmap_cache *idmaps, struct iso_survey *ret_survey,
		    struct iso_error *err);

/* A zeroed value is fine. */
void iso_survey_done(struct iso_survey *survey);

#endif
