/* The two halves in one text. Each is printed by itself first, because its digest is of its own
 * text. */
#include "sandbox/plan.h"

#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"

void iso_plan_done(struct iso_plan *plan)
{
	iso_world_done(&plan->world);
	iso_command_done(&plan->command);
}

static int print_world(const struct iso_world *world, char **ret_text, struct iso_error *err)
{
	struct iso_json json;
	cJSON *root = iso_json_begin(&json);
	iso_world_print(world, &json, root);
	return iso_json_end(&json, root, ret_text, err);
}

static int print_command(const struct iso_command *command, char **ret_text, struct iso_error *err)
{
	struct iso_json json;
	cJSON *root = iso_json_begin(&json);
	iso_command_print(command, &json, root);
	return iso_json_end(&json, root, ret_text, err);
}

int iso_plan_print(const struct iso_plan *plan, char **ret_json, struct iso_error *err)
{
	ISO_AUTO_FREE char *world = NULL;
	ISO_AUTO_FREE char *command = NULL;
	char world_sha256[ISO_SHA256_HEX_SIZE], command_sha256[ISO_SHA256_HEX_SIZE];
	if (print_world(&plan->world, &world, err) < 0 ||
	    print_command(&plan->command, &command, err) < 0)
		return -1;
	iso_sha256_hex(world, strlen(world), world_sha256);
	iso_sha256_hex(command, strlen(command), command_sha256);
	*ret_json = iso_strf("{\"schema\":\"isorun.plan/2\",\"world_sha256\":\"%s\",\"world\":%s,"
			     "\"command_sha256\":\"%s\",\"command\":%s}",
			     world_sha256, world, command_sha256, command);
	return *ret_json == NULL ? iso_error_nomem(err) : 0;
}
