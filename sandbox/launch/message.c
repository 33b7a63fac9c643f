/* Header, filters, strings: the sizes are known before the message is made. */
#include "sandbox/launch/message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "sandbox/child/steps.h"
#include "sandbox/filter/embedded.h"

/* A core file of one byte cannot be, and one byte also stops core_pattern's pipes (core(5)). */
#define CORE_LIMIT 1

static void add_rlimit(struct iso_init_config *config, int resource, uint64_t soft, uint64_t hard)
{
	config->rlimits[config->rlimit_count++] = (struct iso_init_rlimit){
		.resource = (uint32_t)resource,
		.soft = soft,
		.hard = hard,
	};
}

static void fill_rlimits(const struct iso_command_limits *limits, struct iso_init_config *config)
{
	add_rlimit(config, RLIMIT_CORE, CORE_LIMIT, CORE_LIMIT);
	add_rlimit(config, RLIMIT_NOFILE, limits->nofile_soft_count, limits->nofile_hard_count);
	if (limits->fsize_max_bytes != ISO_UNLIMITED)
		add_rlimit(config, RLIMIT_FSIZE, limits->fsize_max_bytes, limits->fsize_max_bytes);
}

/* Where the payload may write: what Landlock repeats of the mounts. */
static bool is_writable_place(const struct iso_fsop *op)
{
	return (op->kind == ISO_FSOP_BIND && op->writable) ||
	       (op->kind == ISO_FSOP_TMPFS && !op->device_files);
}

/* The strings behind the filter, gathered so that their size is known first. */
static int gather_strings(const struct iso_plan *plan, struct iso_strv *ret_strings,
			  struct iso_error *err)
{
	const char *search = iso_strv_find_variable(&plan->command.env, "PATH");
	search = search == NULL ? "" : search + strlen("PATH=");
	if (iso_strv_add(ret_strings, plan->command.workdir) < 0 ||
	    iso_strv_add(ret_strings, search) < 0)
		return iso_error_nomem(err);
	for (size_t i = 0; i < plan->world.fsop_count; i++) {
		if (is_writable_place(&plan->world.fsops[i]) &&
		    iso_strv_add(ret_strings, plan->world.fsops[i].target) < 0)
			return iso_error_nomem(err);
	}
	return 0;
}

static size_t strings_size(const struct iso_strv *strings)
{
	size_t size = 0;
	for (size_t i = 0; i < strings->count; i++)
		size += strlen(strings->items[i]) + 1;
	return size;
}

static void *append(char *cursor, const void *data, size_t size)
{
	if (size > 0)
		memcpy(cursor, data, size);
	return cursor + size;
}

int iso_message_compose(const struct iso_plan *plan, const struct iso_identity *identity,
			char **ret_message, size_t *ret_size, struct iso_error *err)
{
	const struct iso_world *world = &plan->world;
	const struct iso_command *command = &plan->command;
	ISO_CLEANUP(iso_strv_done) struct iso_strv strings = {0};
	if (gather_strings(plan, &strings, err) < 0)
		return -1;
	size_t filter_count;
	const struct sock_filter *filter = iso_default_filter(world->capabilities, &filter_count);
	size_t filter_size = filter_count * sizeof(*filter);
	size_t custom_size = world->seccomp.count * sizeof(world->seccomp.instructions[0]);
	size_t strings_offset = sizeof(struct iso_init_config) + filter_size + custom_size;
	size_t size = strings_offset + strings_size(&strings);
	if (size > ISO_INIT_CONFIG_MAX)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "prepare the init: working directory, PATH and the writable "
				     "paths are too long together");
	size_t path_offset = strings_offset + strlen(strings.items[0]) + 1;
	struct iso_init_config config = {
		.tag = ISO_INIT_CONFIG_TAG,
		.size = (uint32_t)size,
		.make_user_namespace = identity->kind != ISO_IDENTITY_CALLER,
		.host_uid = identity->host_uid,
		.host_gid = identity->host_gid,
		.filter_count = (uint32_t)filter_count,
		.capabilities = world->capabilities,
		.custom_count = (uint32_t)world->seccomp.count,
		.workdir_offset = (uint32_t)strings_offset,
		.path_offset = (uint32_t)path_offset,
		.tty_rows = command->tty ? command->tty_rows : 0,
		.tty_columns = command->tty ? command->tty_columns : 0,
		.landlock_abi = world->landlock_abi,
		.writable_offset = (uint32_t)(path_offset + strlen(strings.items[1]) + 1),
		.writable_count = (uint32_t)strings.count - 2,
	};
	fill_rlimits(&command->limits, &config);
	char *message = malloc(size);
	if (message == NULL)
		return iso_error_nomem(err);
	char *cursor = append(message, &config, sizeof(config));
	cursor = append(cursor, filter, filter_size);
	cursor = append(cursor, world->seccomp.instructions, custom_size);
	for (size_t i = 0; i < strings.count; i++)
		cursor = stpcpy(cursor, strings.items[i]) + 1;
	*ret_message = message;
	*ret_size = size;
	return 0;
}
