/* What a policy owns, and looking things up in it. */
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

static const char *const permission_names[ISO_PERMISSION_COUNT] = {
	"READ", "WRITE", "EXECUTE", "NETWORK", "PRIVILEGED", "IRREVERSIBLE",
};

const char *iso_permission_name(unsigned int number)
{
	return number < ISO_PERMISSION_COUNT ? permission_names[number] : "";
}

const struct iso_policy_command *iso_policy_find_command(const struct iso_policy *policy,
							 const char *name)
{
	for (size_t i = 0; i < policy->command_count; i++) {
		if (strcmp(policy->commands[i].name, name) == 0)
			return &policy->commands[i];
	}
	return NULL;
}

void iso_policy_done(struct iso_policy *policy)
{
	for (size_t i = 0; i < policy->command_count; i++) {
		free(policy->commands[i].name);
		iso_strv_done(&policy->commands[i].argv);
	}
	for (size_t i = 0; i < policy->mount_count; i++) {
		free(policy->mounts[i].source);
		free(policy->mounts[i].target);
	}
	free(policy->root);
	free(policy->commands);
	free(policy->mounts);
	free(policy->seccomp);
	iso_strv_done(&policy->pass_environment);
	iso_strv_done(&policy->set_environment);
	iso_strv_done(&policy->network_allow);
	iso_strv_done(&policy->private_names);
	iso_strv_done(&policy->protected_paths);
	iso_strv_done(&policy->capabilities);
	*policy = (struct iso_policy){0};
}
