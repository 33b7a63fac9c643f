/* Requests: the first byte chooses the tool, the rest are its arguments; and command lines. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress.h"
#include "policy/shell/shellcheck.h"
#include "policy/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const char *command)
{
	static char *names[] = {(char *)"example.org", NULL};
	static const struct iso_strv allow = {names, 1};
	struct iso_error err = {0};
	(void)iso_shell_check(command, "/w", "/w/sub", &err);
	(void)iso_egress_check(&allow, command, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_call call;
	struct iso_error err = {0};
	if (size == 0)
		return 0;
	char *text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	const struct iso_tool *tool = &iso_tools[data[0] % iso_tool_count];
	if (iso_call_read(tool->name, text, &call, &err) == 0) {
		if (call.command != NULL)
			judge(call.command);
		iso_call_done(&call);
	} else if (err.message[0] == '\0') {
		__builtin_trap();
	}
	judge(text);
	free(text);
	return 0;
}
