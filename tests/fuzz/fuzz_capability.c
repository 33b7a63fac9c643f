/* Capabilities: what an authority answers is checked, and nothing of it believed. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "policy/capability.h"
#include "runner/base/text/json_read.h"

static bool is_directory(const char *path)
{
	return path[0] == '/';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_binding binding = {
		.command = "ls",
		.command_sha256 = "0",
		.cwd = "/",
		.workspace = "/",
		.generation = "g",
		.challenge = "c",
	};
	struct iso_capability capability;
	struct iso_error err = {0};
	cJSON *answer;
	if (iso_json_parse("it", (const char *)data, size, &answer, &err) < 0)
		return 0;
	if (iso_capability_check(answer, &binding, 1700000000000, is_directory, &capability,
				 &err) == 0)
		iso_capability_done(&capability);
	else if (err.message[0] == '\0')
		__builtin_trap();
	cJSON_Delete(answer);
	return 0;
}
