/* POL-7: every sandbox field of the policy becomes a member of the request, and so of the plan. */
#include "runner/grant/policy_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/beneath.h"
#include "runner/base/file/path.h"
#include "runner/base/text/json_read.h"
#include "runner/workspace/operator_file.h"
#include "sandbox/filter/capabilities.h"

static int find_writable(struct iso_loaded_policy *loaded, struct iso_error *err)
{
	const struct iso_policy *policy = &loaded->policy;
	struct iso_named_path root;
	if (iso_named_path_of(loaded->workspace.root_fd, policy->root, "the workspace", &root,
			      err) < 0 ||
	    iso_writable_add(&loaded->writable, &root, policy->root, err) < 0)
		return -1;
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct iso_mount mount = {
			.kind = policy->mounts[i].writable ? ISO_MOUNT_RW : ISO_MOUNT_RO,
			.source = policy->mounts[i].source,
		};
		if (iso_writable_add_mounts(&loaded->writable, &mount, 1, err) < 0)
			return -1;
	}
	return 0;
}

static int load(const char *path, const struct iso_operator_file *file,
		struct iso_loaded_policy *loaded, struct iso_error *err)
{
	ISO_AUTO_FREE char *what = iso_strf("policy \"%s\"", file->named.path);
	if (what == NULL)
		return iso_error_nomem(err);
	if (iso_policy_parse(what, file->text, file->size, &loaded->policy, err) < 0)
		return -1;
	if (iso_workspace_open(loaded->policy.root, &loaded->policy.private_names,
			       &loaded->workspace, err) < 0)
		return -1;
	char *canonical = strdup(loaded->workspace.root);
	if (canonical == NULL)
		return iso_error_nomem(err);
	free(loaded->policy.root);
	loaded->policy.root = canonical;
	iso_sha256_hex(file->text, file->size, loaded->sha256);
	if (find_writable(loaded, err) < 0)
		return -1;
	return iso_writable_refuse(&loaded->writable, path, &file->named, "the policy", err);
}

int iso_policy_load(const char *path, struct iso_loaded_policy *ret_loaded, struct iso_error *err)
{
	ISO_CLEANUP(iso_operator_file_done) struct iso_operator_file file = {0};
	*ret_loaded = (struct iso_loaded_policy){.workspace = {.root_fd = -1}};
	if (iso_operator_file_read(path, "the policy", ISO_JSON_SIZE_MAX, &file, err) < 0)
		return -1;
	if (load(path, &file, ret_loaded, err) < 0) {
		iso_policy_unload(ret_loaded);
		return -1;
	}
	return 0;
}

void iso_policy_unload(struct iso_loaded_policy *loaded)
{
	iso_writable_done(&loaded->writable);
	iso_workspace_close(&loaded->workspace);
	iso_policy_done(&loaded->policy);
}

/* The object at `path`, or the directory that will hold it; false: neither is there. */
static bool find_nearest(const char *path, const char *what, struct iso_named_path *ret_named)
{
	if (iso_named_path_open(path, what, ret_named, NULL) == 0)
		return true;
	ISO_AUTO_FREE char *directory = iso_path_directory(path);
	return directory != NULL && iso_named_path_open(directory, what, ret_named, NULL) == 0;
}

int iso_policy_check_place(const struct iso_loaded_policy *loaded, const char *path,
			   const char *what, struct iso_error *err)
{
	ISO_CLEANUP(iso_named_path_done) struct iso_named_path named = {.fd = -1};
	if (path == NULL)
		return 0;
	bool found = find_nearest(path, what, &named);
	return iso_writable_refuse(&loaded->writable, path, found ? &named : NULL, what, err);
}

int iso_policy_check_protected(const struct iso_loaded_policy *loaded, struct iso_error *err)
{
	for (size_t i = 0; i < loaded->policy.protected_paths.count; i++) {
		const char *path = loaded->policy.protected_paths.items[i];
		ISO_AUTO_CLOSE int fd =
			iso_open_without_links(loaded->workspace.root_fd, path, O_PATH);
		if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
			return iso_error_set(
				err, ISO_ERR_DENIED, errno,
				"protect \"%s\" of the policy in a workspace below its "
				"root",
				path);
	}
	return 0;
}

static int fill_environment(const struct iso_policy *policy, struct iso_strv *env,
			    struct iso_error *err)
{
	for (size_t i = 0; i < policy->pass_environment.count; i++) {
		const char *name = policy->pass_environment.items[i];
		const char *value = getenv(name);
		if (value != NULL && iso_strv_addf(env, "%s=%s", name, value) < 0)
			return iso_error_nomem(err);
	}
	for (size_t i = 0; i < policy->set_environment.count; i++) {
		if (iso_strv_set_variable(env, policy->set_environment.items[i]) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static int fill_mounts(const struct iso_policy *policy, struct iso_policy_request *storage,
		       struct iso_error *err)
{
	size_t count = 0;
	storage->mounts = calloc(policy->mount_count + policy->protected_paths.count + 1,
				 sizeof(*storage->mounts));
	if (storage->mounts == NULL)
		return iso_error_nomem(err);
	for (size_t i = 0; i < policy->mount_count; i++) {
		const struct iso_policy_mount *mount = &policy->mounts[i];
		storage->mounts[count++] = (struct iso_mount){
			.kind = mount->writable ? ISO_MOUNT_RW : ISO_MOUNT_RO,
			.source = mount->source,
			.target = mount->target,
		};
	}
	/* Absolute: the workspace of a run may be narrower than the root. */
	for (size_t i = 0; i < policy->protected_paths.count; i++) {
		ISO_AUTO_FREE char *joined =
			iso_strf("%s/%s", policy->root, policy->protected_paths.items[i]);
		ISO_AUTO_FREE char *path = joined != NULL ? iso_path_normalise(joined) : NULL;
		if (path == NULL || iso_strv_add(&storage->protected_paths, path) < 0)
			return iso_error_nomem(err);
		storage->mounts[count++] = (struct iso_mount){
			.kind = ISO_MOUNT_PROTECT,
			.target = storage->protected_paths.items[i],
		};
	}
	return 0;
}

static int fill_capabilities(const struct iso_policy *policy, uint64_t *ret_mask,
			     struct iso_error *err)
{
	*ret_mask = 0;
	for (size_t i = 0; i < policy->capabilities.count; i++) {
		uint64_t bit = iso_capability_bit(policy->capabilities.items[i]);
		if (bit == 0)
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read the policy: $.capabilities[%zu]: no capability "
					     "\"%s\" is known",
					     i, policy->capabilities.items[i]);
		*ret_mask |= bit;
	}
	return 0;
}

int iso_policy_fill_request(const struct iso_loaded_policy *loaded, bool workspace_write,
			    struct iso_policy_request *ret_storage, struct iso_request *request,
			    struct iso_error *err)
{
	const struct iso_policy *policy = &loaded->policy;
	struct iso_policy_request storage = {0};
	if (fill_environment(policy, &storage.env, err) < 0 ||
	    fill_mounts(policy, &storage, err) < 0 ||
	    fill_capabilities(policy, &request->capabilities, err) < 0) {
		iso_policy_request_done(&storage);
		return -1;
	}
	request->workspace = policy->root;
	request->workspace_fd = loaded->workspace.root_fd;
	request->workspace_read_only = !workspace_write;
	request->mounts = storage.mounts;
	request->mount_count = policy->mount_count + policy->protected_paths.count;
	request->env = (const char *const *)storage.env.items;
	request->memory_max_bytes = policy->limits.memory_bytes;
	request->pids_max_count = policy->limits.pids;
	request->cpu_max_millis = policy->limits.cpu_millis == ISO_DEFAULT
					  ? ISO_UNLIMITED
					  : policy->limits.cpu_millis;
	request->nofile_max_count = policy->limits.nofile;
	request->fsize_max_bytes = policy->limits.fsize_bytes == ISO_DEFAULT
					   ? ISO_UNLIMITED
					   : policy->limits.fsize_bytes;
	request->tmp_size_bytes = policy->limits.tmp_bytes;
	request->seccomp_profile = policy->seccomp;
	*ret_storage = storage;
	return 0;
}

void iso_policy_request_done(struct iso_policy_request *storage)
{
	free(storage->mounts);
	iso_strv_done(&storage->env);
	iso_strv_done(&storage->protected_paths);
	*storage = (struct iso_policy_request){0};
}
