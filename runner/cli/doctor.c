/* `isorun doctor`: the library's findings as a list for people, or as they are. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/cli/cli.h"

static const char *text_of(const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
	return text != NULL ? text : "";
}

static bool flag_of(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static int print_findings(const char *json)
{
	cJSON *root = cJSON_Parse(json);
	const cJSON *check;
	cJSON_ArrayForEach(check, cJSON_GetObjectItemCaseSensitive(root, "checks"))
	{
		const char *mark = flag_of(check, "ok")	      ? "ok"
				   : flag_of(check, "needed") ? "MISSING"
							      : "without";
		printf("%-8s %-17s %s\n", mark, text_of(check, "name"), text_of(check, "detail"));
		if (*text_of(check, "remedy") != '\0')
			printf("%-8s %-17s -> %s\n", "", "", text_of(check, "remedy"));
	}
	cJSON_Delete(root);
	return fflush(stdout);
}

struct doctor_options {
	bool json;
};

const struct cli_option cli_doctor_options[] = {
	{"json", CLI_FLAG, CLI_MEMBER(struct doctor_options, json), NULL, "print it as JSON"},
	{0},
};

int cli_doctor(const struct cli_command *command, char **argv)
{
	struct doctor_options options = {false};
	struct iso_error err = {0};
	ISO_AUTO_FREE char *json = NULL;
	bool usable = false;
	char **rest;
	int status = cli_options_read(command, &options, argv, &rest, &err);
	if (status > 0)
		return cli_explain_command(command);
	if (status < 0 || iso_doctor(&json, &usable, &err) < 0)
		return cli_fail(&err);
	int printed = options.json ? cli_print_line(json) : print_findings(json);
	return printed == 0 && usable ? 0 : CLI_EXIT_FAILED;
}
