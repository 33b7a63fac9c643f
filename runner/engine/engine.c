/* For those who wait for one run at a time: a station, and a wait around each run. */
#include <stdlib.h>

#include "runner/base/error.h"
#include "runner/engine/run.h"
#include "runner/isorun.h"

struct iso_engine {
	iso_station *station; /* owned */
};

int iso_engine_new(iso_engine **ret_engine, struct iso_error *err)
{
	iso_engine *engine = malloc(sizeof(*engine));
	if (engine == NULL)
		return iso_error_nomem(err);
	if (iso_station_new(&engine->station, err) < 0) {
		free(engine);
		return -1;
	}
	*ret_engine = engine;
	return 0;
}

void iso_engine_free(iso_engine *engine)
{
	if (engine == NULL)
		return;
	iso_station_free(engine->station);
	free(engine);
}

int iso_engine_run(iso_engine *engine, const struct iso_request *request, iso_result **ret_result,
		   struct iso_error *err)
{
	return iso_run_to_end(engine->station, request, ret_result, err);
}

int iso_engine_plan(iso_engine *engine, const struct iso_request *request, char **ret_json,
		    struct iso_error *err)
{
	return iso_station_plan(engine->station, request, ret_json, err);
}
