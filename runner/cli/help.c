/* Help is printed from the tables, so that it cannot say what the parser does not know. */
#include <stdio.h>
#include <string.h>

#include "runner/base/error.h"
#include "runner/cli/cli.h"

#define OPTION_COLUMN 30

static void print_option(const char *name, const char *argument, const char *help)
{
	char left[64];
	snprintf(left, sizeof(left), "--%s%s%s", name, argument != NULL ? " " : "",
		 argument != NULL ? argument : "");
	printf("  %-*s %s\n", OPTION_COLUMN, left, help);
}

/* The actions of a command whose name is the first of two words. */
static void print_actions(const char *name)
{
	size_t length = strlen(name);
	bool any = false;
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *command = &cli_commands[i];
		if (strncmp(command->name, name, length) != 0 || command->name[length] != ' ')
			continue;
		printf("%s  isorun %-17s %s\n", any ? "" : "\nActions:\n", command->name,
		       command->summary);
		any = true;
	}
}

int cli_explain_command(const struct cli_command *command)
{
	printf("Usage: isorun %s%s%s\n\n%s.\n", command->name, *command->usage != '\0' ? " " : "",
	       command->usage, command->summary);
	print_actions(command->name);
	printf("\nOptions:\n");
	for (const struct cli_option *option = command->options; option->name != NULL; option++)
		print_option(option->name, option->argument, option->help);
	print_option("help", NULL, "this text");
	if (command->notes != NULL)
		printf("\n%s", command->notes);
	return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
}

static int list_commands(void)
{
	printf("isorun runs a command isolated: namespaces, a cgroup of its own, a "
	       "receipt.\n\n"
	       "Usage:\n");
	for (size_t i = 0; i < cli_command_count; i++) {
		if (strchr(cli_commands[i].name, ' ') == NULL)
			printf("  isorun %-11s %s\n", cli_commands[i].name,
			       cli_commands[i].summary);
	}
	printf("  isorun %-11s %s\n", "--version", "print the version");
	return cli_print_line("\nisorun help COMMAND explains each.");
}

/* The manual's list of all options (`make manual`), in mdoc(7). */
static int print_manual(void)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_option *option = cli_commands[i].options;
		if (option->name == NULL)
			continue;
		printf(".Ss isorun %s\n.Bl -tag -width Ds -compact\n", cli_commands[i].name);
		for (; option->name != NULL; option++)
			printf(".It Fl -%s%s%s\n%s\n", option->name,
			       option->argument != NULL ? " Ar " : "",
			       option->argument != NULL ? option->argument : "", option->help);
		printf(".El\n");
	}
	return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
}

int cli_help(const struct cli_command *command, char **argv)
{
	char **rest;
	(void)command;
	if (argv[0] == NULL)
		return list_commands();
	if (strcmp(argv[0], "--manual") == 0)
		return print_manual();
	const struct cli_command *topic = cli_find_command(
		strcmp(argv[0], "--help") == 0 ? (char *[]){(char *)"help", NULL} : argv, &rest);
	if (topic != NULL)
		return cli_explain_command(topic);
	struct iso_error err = {0};
	iso_error_set(&err, ISO_ERR_INVALID, 0, "there is no help on \"%s\"", argv[0]);
	iso_error_hint(&err, "isorun help lists the commands");
	return cli_fail(&err);
}
