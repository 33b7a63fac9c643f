/* Keys are printed in their sorted order, which a test checks; that is all there is to
 * canonical. */
#include "runner/plan/request.h"

#include <stdlib.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/sized.h"
#include "runner/base/text/json.h"
#include "runner/base/text/strv.h"
#include "sandbox/filter/capabilities.h"

static const struct iso_request defaults = {
	.uid = ISO_DEFAULT,
	.gid = ISO_DEFAULT,
	.memory_max_bytes = ISO_DEFAULT,
	.pids_max_count = ISO_DEFAULT,
	.cpu_max_millis = ISO_UNLIMITED,
	.wall_limit_ms = ISO_UNLIMITED,
	.grace_ms = ISO_DEFAULT,
	.nofile_max_count = ISO_DEFAULT,
	.fsize_max_bytes = ISO_UNLIMITED,
	.tmp_size_bytes = ISO_DEFAULT,
	.stdin_fd = -1,
	.stdout_fd = -1,
	.stderr_fd = -1,
	.cancel_fd = -1,
	.output_limit_bytes = ISO_DEFAULT,
	.stderr_limit_bytes = ISO_DEFAULT,
	.workspace_fd = -1,
};

void iso_request_init_sized(struct iso_request *ret_request, size_t struct_size, size_t mount_size)
{
	struct iso_request request = defaults;
	request.struct_size = struct_size;
	request.mount_size = mount_size;
	iso_sized_write(ret_request, struct_size, &request, sizeof(request));
}

/* The mounts of a program whose struct iso_mount has another size than ours. */
static int convert_mounts(struct iso_request_read *read, struct iso_error *err)
{
	struct iso_request *request = &read->request;
	const char *given = (const char *)request->mounts;
	struct iso_mount *mounts = calloc(request->mount_count, sizeof(*mounts));
	if (mounts == NULL)
		return iso_error_nomem(err);
	for (size_t i = 0; i < request->mount_count; i++) {
		if (iso_sized_read(given + i * request->mount_size, request->mount_size, &mounts[i],
				   sizeof(mounts[i]), "struct iso_mount", err) < 0) {
			free(mounts);
			return -1;
		}
	}
	read->mounts = mounts;
	request->mounts = mounts;
	return 0;
}

int iso_request_read(const struct iso_request *given, struct iso_request_read *ret_read,
		     struct iso_error *err)
{
	struct iso_request_read read = {.request = defaults};
	if (iso_sized_read(given, given->struct_size, &read.request, sizeof(read.request),
			   "struct iso_request", err) < 0 ||
	    (read.request.mount_count > 0 && read.request.mount_size != sizeof(struct iso_mount) &&
	     convert_mounts(&read, err) < 0))
		return -1;
	*ret_read = read;
	return 0;
}

void iso_request_read_done(struct iso_request_read *read)
{
	free(read->mounts);
	read->mounts = NULL;
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
	iso_json_add_limit(&json, root, "cpu_max_millis", request->cpu_max_millis);
	iso_json_add_text(&json, root, "detached",
			  request->detached == ISO_DETACHED_WAIT ? "wait" : "kill");
	iso_json_add_bool(&json, root, "diff", request->diff);
	iso_json_add_strv(&json, root, "env", (char *const *)request->env);
	iso_json_add_limit(&json, root, "fsize_max_bytes", request->fsize_max_bytes);
	iso_json_add_limit(&json, root, "gid", request->gid);
	iso_json_add_limit(&json, root, "grace_ms", request->grace_ms);
	iso_json_add_text(&json, root, "hostname", request->hostname);
	iso_json_add_text(&json, root, "keep", request->keep == ISO_KEEP_TAIL ? "tail" : "head");
	iso_json_add_limit(&json, root, "memory_max_bytes", request->memory_max_bytes);
	add_mounts(&json, root, request);
	iso_json_add_limit(&json, root, "nofile_max_count", request->nofile_max_count);
	iso_json_add_limit(&json, root, "output_limit_bytes", request->output_limit_bytes);
	iso_json_add_limit(&json, root, "pids_max_count", request->pids_max_count);
	iso_json_add_text(&json, root, "rootfs", request->rootfs);
	iso_json_add_text(&json, root, "seccomp_profile", request->seccomp_profile);
	iso_json_add_limit(&json, root, "tmp_size_bytes", request->tmp_size_bytes);
	iso_json_add_bool(&json, root, "tty", request->tty);
	iso_json_add_limit(&json, root, "uid", request->uid);
	iso_json_add_limit(&json, root, "wall_limit_ms", request->wall_limit_ms);
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
