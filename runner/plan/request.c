/* Keys are added in their sorted order, which a test checks; that is all there is to canonical. */
#include "runner/plan/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/text/json.h"
#include "runner/base/text/strv.h"
#include "sandbox/filter/capabilities.h"

static void add_number(struct iso_json *json, cJSON *object, const char *name, uint64_t value)
{
	if (value == ISO_DEFAULT || value == ISO_UNLIMITED)
		iso_json_add_null(json, object, name);
	else
		iso_json_add_u64(json, object, name, value);
}

static void add_mounts(struct iso_json *json, cJSON *object, const struct iso_request *request)
{
	static const char *const kinds[] = {
		[ISO_MOUNT_UNSET] = "unset", [ISO_MOUNT_RO] = "ro",
		[ISO_MOUNT_RW] = "rw",	     [ISO_MOUNT_TMPFS] = "tmpfs",
		[ISO_MOUNT_HIDE] = "hide",   [ISO_MOUNT_PROTECT] = "protect",
	};
	cJSON *list = iso_json_add_array(json, object, "mounts");
	for (size_t i = 0; i < request->mount_count; i++) {
		const struct iso_mount *mount = &request->mounts[i];
		cJSON *item = iso_json_append_object(json, list);
		iso_json_add_text(json, item, "kind", kinds[mount->kind]);
		iso_json_add_u64(json, item, "size_bytes", mount->size_bytes);
		iso_json_add_text(json, item, "source", mount->source);
		iso_json_add_text(json, item, "target", mount->target);
	}
}

int iso_request_print(const struct iso_request *request, char **ret_json, struct iso_error *err)
{
	struct iso_json json;
	cJSON *root = iso_json_begin(&json);
	iso_json_add_strv(&json, root, "argv", (char *const *)request->argv);
	iso_capabilities_add(&json, root, "capabilities", request->capabilities);
	iso_json_add_bool(&json, root, "cgroup_optional", request->cgroup_optional);
	add_number(&json, root, "cpu_max_millis", request->cpu_max_millis);
	iso_json_add_text(&json, root, "detached",
			  request->detached == ISO_DETACHED_WAIT ? "wait" : "kill");
	iso_json_add_bool(&json, root, "diff", request->diff);
	iso_json_add_strv(&json, root, "env", (char *const *)request->env);
	add_number(&json, root, "fsize_max_bytes", request->fsize_max_bytes);
	add_number(&json, root, "gid", request->gid);
	add_number(&json, root, "grace_ms", request->grace_ms);
	iso_json_add_text(&json, root, "hostname", request->hostname);
	iso_json_add_text(&json, root, "keep", request->keep == ISO_KEEP_TAIL ? "tail" : "head");
	add_number(&json, root, "memory_max_bytes", request->memory_max_bytes);
	add_mounts(&json, root, request);
	add_number(&json, root, "nofile_max_count", request->nofile_max_count);
	add_number(&json, root, "output_limit_bytes", request->output_limit_bytes);
	add_number(&json, root, "pids_max_count", request->pids_max_count);
	iso_json_add_text(&json, root, "rootfs", request->rootfs);
	iso_json_add_text(&json, root, "seccomp_profile", request->seccomp_profile);
	add_number(&json, root, "tmp_size_bytes", request->tmp_size_bytes);
	iso_json_add_bool(&json, root, "tty", request->tty);
	add_number(&json, root, "uid", request->uid);
	add_number(&json, root, "wall_limit_ms", request->wall_limit_ms);
	iso_json_add_text(&json, root, "workdir", request->workdir);
	iso_json_add_text(&json, root, "workspace", request->workspace);
	iso_json_add_bool(&json, root, "workspace_read_only", request->workspace_read_only);

	ISO_AUTO_FREE char *arguments = NULL;
	if (iso_json_end(&json, root, &arguments, err) < 0)
		return -1;
	char *text = iso_strf("[\"run\",%s]", arguments);
	if (text == NULL)
		return iso_error_nomem(err);
	*ret_json = text;
	return 0;
}
