/* The workspace is opened once; everything later compares what it finds with this object. */
#include "runner/plan/survey.h"

#include <errno.h>
#include <sys/stat.h>

#include "runner/base/error.h"
#include "runner/plan/places.h"

static int open_workspace(const struct iso_request *request, struct iso_named_path *workspace,
			  struct iso_error *err)
{
	const char *path = request->workspace != NULL ? request->workspace : ".";
	int opened = request->workspace_fd >= 0
			     ? iso_named_path_of(request->workspace_fd, path, "the workspace",
						 workspace, err)
			     : iso_named_path_open(path, "the workspace", workspace, err);
	if (opened < 0)
		return -1;
	if (!S_ISDIR(workspace->mode))
		return iso_error_set(err, ISO_ERR_INVALID, ENOTDIR, "open the workspace \"%s\"",
				     path);
	if (iso_place_refuses_workspace(workspace->path)) {
		iso_error_set(err, ISO_ERR_INVALID, 0,
			      "use \"%s\" as workspace: the sandbox has a place of its own there",
			      workspace->path);
		return iso_error_hint(err, "choose a directory below it (--workspace DIR)");
	}
	return 0;
}

static int find_writable(const struct iso_request *request, struct iso_writable *writable,
			 struct iso_error *err)
{
	const char *named = request->workspace != NULL ? request->workspace : ".";
	struct iso_named_path workspace = {.fd = -1};
	if (open_workspace(request, &workspace, err) < 0) {
		iso_named_path_done(&workspace);
		return -1;
	}
	if (iso_writable_add(writable, &workspace, named, err) < 0 ||
	    iso_writable_add_mounts(writable, request->mounts, request->mount_count, err) < 0)
		return -1;
	return writable->count > 1 ? iso_writable_check(writable, err) : 0;
}

int iso_survey_take(const struct iso_request *request, const struct iso_host *host,
		    struct iso_idmap_cache *idmaps, struct iso_survey *ret_survey,
		    struct iso_error *err)
{
	struct iso_survey survey = {.can_be_mapped = false};
	if (find_writable(request, &survey.writable, err) < 0) {
		iso_survey_done(&survey);
		return -1;
	}
	survey.can_be_mapped =
		host->privileged && iso_idmap_can_bind(iso_survey_workspace(&survey)->fd, idmaps);
	*ret_survey = survey;
	return 0;
}

void iso_survey_done(struct iso_survey *survey)
{
	iso_writable_done(&survey->writable);
}
