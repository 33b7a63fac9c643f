/* Policies: whatever the bytes, an error or a policy that can be walked and released. */
#include <stddef.h>
#include <stdint.h>

#include "policy/evaluate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_policy policy;
	struct iso_error err = {0};
	if (iso_policy_parse("it", (const char *)data, size, &policy, &err) < 0) {
		if (err.message[0] == '\0')
			__builtin_trap(); /* every refusal says why */
		return 0;
	}
	const struct iso_call call = {.tool = &iso_tools[5],
				      .command = "ls; curl https://example.org"};
	struct iso_decision decision;
	iso_evaluate(&policy, &call, NULL, &decision);
	iso_policy_done(&policy);
	return 0;
}
