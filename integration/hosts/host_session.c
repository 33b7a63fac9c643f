/*
 * Two host.bash calls in one session: host_session POLICY AUTHORITY COMMAND. Prints both receipts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/isorun.h"

int main(int argc, char **argv)
{
	struct iso_session_options options;
	struct iso_error err = {0};
	iso_session *session = NULL;
	char arguments[512];
	if (argc != 4)
		return 2;
	iso_session_options_init(&options);
	options.policy = argv[1];
	options.authority = argv[2];
	snprintf(arguments, sizeof(arguments), "{\"command\":\"%s\"}", argv[3]);
	if (iso_session_new(&options, &session, &err) < 0) {
		fprintf(stderr, "host_session: %s\n", err.message);
		return 1;
	}
	for (int i = 0; i < 2; i++) {
		struct iso_tool_call call;
		char *receipt = NULL;
		int code;
		iso_tool_call_init(&call);
		call.tool = "host.bash";
		call.arguments = arguments;
		if (iso_session_call(session, &call, &receipt, &code, &err) == 0)
			puts(receipt);
		free(receipt);
	}
	iso_session_free(session);
	return 0;
}
