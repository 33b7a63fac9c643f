/* libcap knows the names. */
#include "sandbox/filter/capabilities.h"

#include <stdio.h>
#include <strings.h>
#include <sys/capability.h>

#define NAME_SIZE 40

uint64_t iso_capability_bit(const char *name)
{
	char full[NAME_SIZE];
	cap_value_t value;
	bool has_prefix = strncasecmp(name, "cap_", 4) == 0;
	int length = snprintf(full, sizeof(full), "%s%s", has_prefix ? "" : "cap_", name);
	if (length < 0 || (size_t)length >= sizeof(full) || cap_from_name(full, &value) < 0 ||
	    value < 0 || value > 63)
		return 0;
	return UINT64_C(1) << value;
}

void iso_capabilities_add(struct iso_json *json, cJSON *object, const char *name, uint64_t mask)
{
	cJSON *list = iso_json_add_array(json, object, name);
	for (int number = 0; number < 64; number++) {
		if ((mask & UINT64_C(1) << number) == 0)
			continue;
		char *capability = cap_to_name(number); /* a number where there is no name */
		iso_json_append_text(json, list, capability);
		(void)cap_free(capability);
	}
}
