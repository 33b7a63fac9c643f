/* One per process: what is found out, opened or compiled once. Everything in it is either constant
 * after iso_station_new or has a lock of its own. */
#include "runner/engine/station.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/plan/build.h"
#include "runner/plan/request.h"

static int open_parts(iso_station *station, struct iso_error *err)
{
	ISO_AUTO_CLOSE int ready_fd = iso_fd_above_stdio(eventfd(1, EFD_CLOEXEC));
	ISO_AUTO_CLOSE int dev_null_fd =
		iso_fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (ready_fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "create an eventfd");
	if (dev_null_fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "open \"/dev/null\"");
	if (iso_host_probe(&station->host, err) < 0 ||
	    iso_launcher_init(&station->launcher, &station->host.host_ids, err) < 0)
		return -1;
	station->dev_null_fd = ISO_TAKE_FD(dev_null_fd);
	station->ready_fd = ISO_TAKE_FD(ready_fd);
	return 0;
}

int iso_station_new(iso_station **ret_station, struct iso_error *err)
{
	iso_station *station = calloc(1, sizeof(*station));
	if (station == NULL)
		return iso_error_nomem(err);
	if (open_parts(station, err) < 0) {
		free(station);
		return -1;
	}
	iso_seccomp_cache_init(&station->filters);
	/* Without a place for cgroups only requests that call them optional can run. */
	if (iso_cgroup_site_open(&station->site, &station->site_error) < 0 &&
	    station->site_error.code == ISO_OK)
		station->site_error.code = ISO_ERR_INTERNAL;
	atomic_init(&station->users, 1);
	*ret_station = station;
	return 0;
}

iso_station *iso_station_hold(iso_station *station)
{
	atomic_fetch_add(&station->users, 1);
	return station;
}

void iso_station_drop(iso_station *station)
{
	if (atomic_fetch_sub(&station->users, 1) > 1)
		return;
	iso_cgroup_sweep(&station->site);
	iso_cgroup_site_done(&station->site);
	iso_launcher_done(&station->launcher);
	iso_seccomp_cache_done(&station->filters);
	iso_fd_close(station->dev_null_fd);
	iso_fd_close(station->ready_fd);
	free(station);
}

void iso_station_free(iso_station *station)
{
	if (station != NULL)
		iso_station_drop(station);
}

int iso_station_build_plan(iso_station *station, const struct iso_request *request,
			   struct iso_plan *ret_plan, struct iso_error *err)
{
	ISO_CLEANUP(iso_survey_done) struct iso_survey survey = {.can_be_mapped = false};
	if (iso_survey_take(request, &station->host, &station->launcher.idmaps, &survey, err) < 0)
		return -1;
	const struct iso_plan_means means = {&station->host, &survey, &station->filters};
	return iso_plan_build(request, &means, ret_plan, err);
}

int iso_station_plan(iso_station *station, const struct iso_request *request, char **ret_json,
		     struct iso_error *err)
{
	ISO_CLEANUP(iso_plan_done) struct iso_plan plan = {0};
	ISO_CLEANUP(iso_request_read_done) struct iso_request_read read = {0};
	if (iso_request_read(request, &read, err) < 0 ||
	    iso_station_build_plan(station, &read.request, &plan, err) < 0)
		return -1;
	return iso_plan_print(&plan, ret_json, err);
}

int iso_gc(uint64_t *ret_removed, struct iso_error *err)
{
	return iso_cgroup_gc(ret_removed, err);
}
