/*
 * `isorun completion SHELL`: printed from the tables of commands and options. Each shell gets, for
 * every command, the options it has, what their values are as far as completing goes, and the words
 * that can follow.
 */
#include <stdio.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/cli/cli.h"

/* What an option's value is, as far as completing it goes. */
enum value {
	VALUE_OTHER,
	VALUE_DIRECTORY,
	VALUE_PATH,
	VALUE_CHOICE,
};

static enum value value_of(const char *argument)
{
	static const char *const paths[] = {"PATH", "FILE", "DEST", "KEY"};
	if (strncmp(argument, "DIR", 3) == 0)
		return VALUE_DIRECTORY;
	for (size_t i = 0; i < ISO_COUNT(paths); i++) {
		if (strncmp(argument, paths[i], strlen(paths[i])) == 0)
			return VALUE_PATH;
	}
	/* "a|b|c" of lower-case words is a choice. */
	return strspn(argument, "abcdefghijklmnopqrstuvwxyz|") == strlen(argument) ? VALUE_CHOICE
										   : VALUE_OTHER;
}

static void print_words(const char *words)
{
	for (; *words != '\0'; words++)
		putchar(*words == '|' ? ' ' : *words);
}

/* Text inside single quotes; what an apostrophe becomes there differs by shell. */
static void print_quoted(const char *text, const char *apostrophe)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			printf("%s", apostrophe);
		else
			putchar(*text);
	}
}

/* The first words of all commands. */
static void print_commands(void)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		if (strchr(cli_commands[i].name, ' ') == NULL)
			printf("%s ", cli_commands[i].name);
	}
}

/* --- bash: _isorun_COMMAND functions would be many; one case by the command's words does it. */

static void print_bash_values(const struct cli_command *command)
{
	for (const struct cli_option *option = command->options; option->name != NULL; option++) {
		if (option->argument == NULL)
			continue;
		printf("        --%s) ", option->name);
		switch (value_of(option->argument)) {
		case VALUE_DIRECTORY:
			printf("COMPREPLY=($(compgen -d -- \"$word\")); ");
			break;
		case VALUE_PATH:
			printf("COMPREPLY=($(compgen -f -- \"$word\")); ");
			break;
		case VALUE_CHOICE:
			printf("COMPREPLY=($(compgen -W '");
			print_words(option->argument);
			printf("' -- \"$word\")); ");
			break;
		case VALUE_OTHER:
			break;
		}
		printf("return ;;\n");
	}
}

static void print_bash_command(const struct cli_command *command)
{
	printf("    '%s')\n      case $before in\n", command->name);
	print_bash_values(command);
	printf("        *) ;;\n      esac\n      COMPREPLY=($(compgen -W '");
	for (const struct cli_option *option = command->options; option->name != NULL; option++)
		printf("--%s ", option->name);
	printf("--help ");
	if (command->operands != NULL)
		print_words(command->operands);
	printf("' -- \"$word\"))%s ;;\n",
	       command->operands == NULL ? "; COMPREPLY+=($(compgen -f -- \"$word\"))" : "");
}

static void print_bash(void)
{
	printf("_isorun() {\n"
	       "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i\n"
	       "  local command=${COMP_WORDS[1]}\n"
	       "  COMPREPLY=()\n"
	       "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
	       "    COMPREPLY=($(compgen -W '");
	print_commands();
	printf("--version' -- \"$word\")); return\n  fi\n"
	       "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "    if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	       "      COMPREPLY=($(compgen -c -f -- \"$word\")); return\n"
	       "    fi\n"
	       "  done\n"
	       "  if [ \"$command\" = audit ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
	       "    command=\"audit ${COMP_WORDS[2]}\"\n"
	       "  fi\n"
	       "  case $command in\n");
	for (size_t i = 0; i < cli_command_count; i++)
		print_bash_command(&cli_commands[i]);
	printf("  esac\n}\ncomplete -F _isorun isorun\n");
}

/* --- zsh */

static void print_zsh_option(const struct cli_option *option)
{
	printf("        '*--%s[", option->name);
	print_quoted(option->help, "'\\''");
	printf("]");
	if (option->argument != NULL) {
		printf(":value:");
		switch (value_of(option->argument)) {
		case VALUE_DIRECTORY:
			printf("_files -/");
			break;
		case VALUE_PATH:
			printf("_files");
			break;
		case VALUE_CHOICE:
			printf("(");
			print_words(option->argument);
			printf(")");
			break;
		case VALUE_OTHER:
			break;
		}
	}
	printf("' \\\n");
}

static void print_zsh(void)
{
	printf("#compdef isorun\n"
	       "_isorun() {\n"
	       "  local command=$words[2]\n"
	       "  if (( CURRENT == 2 )); then\n"
	       "    compadd ");
	print_commands();
	printf("--version; return\n  fi\n"
	       "  if [[ $command = audit ]] && (( CURRENT > 3 )); then\n"
	       "    command=\"audit $words[3]\"; shift words; (( CURRENT-- ))\n"
	       "  fi\n"
	       "  shift words; (( CURRENT-- ))\n"
	       "  case $command in\n");
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *command = &cli_commands[i];
		printf("    '%s')\n      _arguments -S \\\n", command->name);
		for (const struct cli_option *option = command->options; option->name != NULL;
		     option++)
			print_zsh_option(option);
		printf("        '*--help[explain it]' \\\n");
		if (command->operands != NULL) {
			printf("        '*:word:(");
			print_words(command->operands);
			printf(")' ;;\n");
		} else {
			printf("        '*::command:_normal' ;;\n");
		}
	}
	printf("  esac\n}\n_isorun \"$@\"\n");
}

/* --- fish */

/* When the words so far are those of `command`. */
static void print_fish_condition(const struct cli_command *command)
{
	const char *action = strchr(command->name, ' ');
	printf("complete -c isorun -n '__fish_seen_subcommand_from %.*s",
	       (int)strcspn(command->name, " "), command->name);
	if (action != NULL)
		printf("; and __fish_seen_subcommand_from%s", action);
	printf("'");
}

static void print_fish_option(const struct cli_command *command, const struct cli_option *option)
{
	print_fish_condition(command);
	printf(" -l %s -d '", option->name);
	print_quoted(option->help, "\\'");
	printf("'");
	if (option->argument != NULL) {
		switch (value_of(option->argument)) {
		case VALUE_DIRECTORY:
		case VALUE_PATH:
			printf(" -r");
			break;
		case VALUE_CHOICE:
			printf(" -x -a '");
			print_words(option->argument);
			printf("'");
			break;
		case VALUE_OTHER:
			printf(" -x");
			break;
		}
	}
	printf("\n");
}

static void print_fish(void)
{
	printf("complete -c isorun -f -n __fish_use_subcommand -a '");
	print_commands();
	printf("'\n");
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *command = &cli_commands[i];
		for (const struct cli_option *option = command->options; option->name != NULL;
		     option++)
			print_fish_option(command, option);
		if (command->operands == NULL)
			continue;
		print_fish_condition(command);
		printf(" -f -a '");
		print_words(command->operands);
		printf("'\n");
	}
}

int cli_completion(const struct cli_command *command, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	struct iso_error err = {0};
	char **rest;
	int status = cli_options_read(command, NULL, argv, &rest, &err);
	if (status > 0)
		return cli_explain_command(command);
	for (size_t i = 0; status == 0 && rest[0] != NULL && i < ISO_COUNT(shells); i++) {
		if (strcmp(rest[0], shells[i].name) == 0 && rest[1] == NULL) {
			shells[i].print();
			return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
		}
	}
	if (status == 0)
		iso_error_set(&err, ISO_ERR_INVALID, 0,
			      "print completions: bash, zsh or fish is needed");
	return cli_fail(&err);
}
