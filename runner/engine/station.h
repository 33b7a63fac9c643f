/* What runs share: for the files of this room. */
#ifndef ISORUN_ENGINE_STATION_H
#define ISORUN_ENGINE_STATION_H

#include <stdatomic.h>

#include "runner/isorun.h"
#include "runner/plan/survey.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/filter/seccomp_custom.h"
#include "sandbox/host.h"
#include "sandbox/launch/prepare.h"
#include "sandbox/plan.h"

struct iso_station {
	atomic_uint users; /* the caller, and every run */
	struct iso_host host;
	int dev_null_fd; /* owned */
	int ready_fd;	 /* owned; always readable: what ended runs wait for */
	struct iso_launcher launcher;
	struct iso_seccomp_cache filters;
	struct iso_cgroup_site site;
	struct iso_error site_error; /* why there is no site; code ISO_OK when there is one */
};

/* Hold a station, and give it up: the last one releases it. */
iso_station *iso_station_hold(iso_station *station);
void iso_station_drop(iso_station *station);

/* The plan for a request that was read (iso_request_read). Errors: as iso_plan_build. */
int iso_station_build_plan(iso_station *station, const struct iso_request *request,
			   struct iso_plan *ret_plan, struct iso_error *err);

#endif
