/* The options that mount something: each appends to the request's list. */
#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/text/parse.h"
#include "runner/cli/options/run_options.h"

/* Remember a string that the request will borrow. */
static const char *keep_string(struct cli_run *run, const char *text)
{
	if (iso_strv_add(&run->strings, text) < 0)
		return NULL;
	return run->strings.items[run->strings.count - 1];
}

static struct iso_mount *add_mount(struct cli_run *run, enum iso_mount_kind kind,
				   struct iso_error *err)
{
	if (!iso_array_grow(&run->mounts, run->mount_count, sizeof(*run->mounts))) {
		iso_error_nomem(err);
		return NULL;
	}
	struct iso_mount *mount = &run->mounts[run->mount_count++];
	*mount = (struct iso_mount){.kind = kind};
	return mount;
}

/* "LEFT[:RIGHT]": split at the last colon; both parts must be there when it is. */
static int split(struct cli_run *run, const char *option, const char *value, const char **ret_left,
		 const char **ret_right, struct iso_error *err)
{
	ISO_AUTO_FREE char *copy = strdup(value);
	if (copy == NULL)
		return iso_error_nomem(err);
	char *colon = strrchr(copy, ':');
	if (colon != NULL)
		*colon++ = '\0';
	if (*copy == '\0' || (colon != NULL && *colon == '\0'))
		return cli_refuse(err, option, value, "a part of it is empty");
	*ret_left = keep_string(run, copy);
	*ret_right = colon != NULL ? keep_string(run, colon) : NULL;
	if (*ret_left == NULL || (colon != NULL && *ret_right == NULL))
		return iso_error_nomem(err);
	return 0;
}

static int apply_bind(struct cli_run *run, enum iso_mount_kind kind, const char *option,
		      const char *value, struct iso_error *err)
{
	const char *source, *target;
	if (split(run, option, value, &source, &target, err) < 0)
		return -1;
	struct iso_mount *mount = add_mount(run, kind, err);
	if (mount == NULL)
		return -1;
	mount->source = source;
	mount->target = target;
	return 0;
}

int cli_apply_ro(void *target, const char *value, struct iso_error *err)
{
	return apply_bind(target, ISO_MOUNT_RO, "ro", value, err);
}

int cli_apply_rw(void *target, const char *value, struct iso_error *err)
{
	return apply_bind(target, ISO_MOUNT_RW, "rw", value, err);
}

int cli_apply_tmpfs(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	const char *place, *size;
	uint64_t bytes = 0;
	if (split(run, "tmpfs", value, &place, &size, err) < 0)
		return -1;
	if (size != NULL && iso_parse_size(size, &bytes) < 0)
		return cli_refuse(err, "tmpfs", size,
				  "a positive whole number with an optional K, M or G is needed");
	struct iso_mount *mount = add_mount(run, ISO_MOUNT_TMPFS, err);
	if (mount == NULL)
		return -1;
	mount->target = place;
	mount->size_bytes = bytes;
	return 0;
}

int cli_apply_hide(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	struct iso_mount *mount = add_mount(run, ISO_MOUNT_HIDE, err);
	if (mount == NULL)
		return -1;
	mount->target = value;
	return 0;
}

static int add_protection(struct cli_run *run, const char *path, struct iso_error *err)
{
	struct iso_mount *mount = add_mount(run, ISO_MOUNT_PROTECT, err);
	if (mount == NULL)
		return -1;
	mount->target = path;
	return 0;
}

int cli_apply_protect(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	if (*value == '\0')
		return cli_refuse(err, "protect", value, "a path in the workspace is needed");
	return add_protection(run, value, err);
}

/* What an agent has no business to change: what others would obey later. */
int cli_apply_protect_defaults(void *target, const char *value, struct iso_error *err)
{
	struct cli_run *run = target;
	static const char *const paths[] = {
		".git/hooks",
		".git/config",
		".gitmodules",
		".husky",
		".github/workflows",
		".gitlab-ci.yml",
		".circleci",
		".vscode",
		".idea",
		".devcontainer",
		".claude",
		".cursor",
		".codex",
		".mcp.json",
		".envrc",
		".bashrc",
		".bash_profile",
		".profile",
		".zshrc",
		".zshenv",
		".npmrc",
		".pypirc",
		".pre-commit-config.yaml",
	};
	(void)value;
	for (size_t i = 0; i < ISO_COUNT(paths); i++) {
		if (add_protection(run, paths[i], err) < 0)
			return -1;
	}
	return 0;
}
