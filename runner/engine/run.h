/* Runs for the library's own rooms; hosts see runner/isorun.h. */
#ifndef ISORUN_ENGINE_RUN_H
#define ISORUN_ENGINE_RUN_H

#include "runner/isorun.h"

/* Start a run, wait until it has ended, take its result. Errors: as iso_engine_run. */
int iso_run_to_end(iso_station *station, const struct iso_request *request, iso_result **ret_result,
		   struct iso_error *err);

#endif
