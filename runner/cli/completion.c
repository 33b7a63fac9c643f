/* `isorun completion SHELL`: printed from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/error.h"
#include "runner/cli/cli.h"

/* What an option's value is, as far as completing it goes. */
static bool takes_directory(const char *argument)
{
	return strncmp(argument, "DIR", 3) == 0;
}

static bool takes_path(const char *argument)
{
	return strncmp(argument, "PATH", 4) == 0 || strncmp(argument, "FILE", 4) == 0 ||
	       strncmp(argument, "DEST", 4) == 0;
}

/* "a|b|c" of lower-case words is a choice. */
static bool is_choice(const char *argument)
{
	return strspn(argument, "abcdefghijklmnopqrstuvwxyz|") == strlen(argument);
}

static void print_words(const char *argument)
{
	for (; *argument != '\0'; argument++)
		putchar(*argument == '|' ? ' ' : *argument);
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

static void print_commands(void)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		if (cli_commands[i].name[0] != '-')
			printf("%s ", cli_commands[i].name);
	}
}

static void print_bash(void)
{
	printf("_isorun() {\n"
	       "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i\n"
	       "  COMPREPLY=()\n"
	       "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
	       "    COMPREPLY=($(compgen -W '");
	print_commands();
	printf("--version' -- \"$word\")); return\n  fi\n"
	       "  case ${COMP_WORDS[1]} in\n"
	       "    run|plan) ;;\n"
	       "    doctor) COMPREPLY=($(compgen -W '--json' -- \"$word\")); return ;;\n"
	       "    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\")); return ;;\n"
	       "    *) return ;;\n"
	       "  esac\n"
	       "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "    if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	       "      COMPREPLY=($(compgen -c -f -- \"$word\")); return\n"
	       "    fi\n"
	       "  done\n"
	       "  case $before in\n");
	for (size_t i = 0; i < cli_run_option_count; i++) {
		const struct cli_option *option = &cli_run_options[i];
		if (option->argument == NULL)
			continue;
		printf("    --%s) ", option->name);
		if (takes_directory(option->argument)) {
			printf("COMPREPLY=($(compgen -d -- \"$word\")); ");
		} else if (takes_path(option->argument)) {
			printf("COMPREPLY=($(compgen -f -- \"$word\")); ");
		} else if (is_choice(option->argument)) {
			printf("COMPREPLY=($(compgen -W '");
			print_words(option->argument);
			printf("' -- \"$word\")); ");
		}
		printf("return ;;\n");
	}
	printf("  esac\n  COMPREPLY=($(compgen -W '");
	for (size_t i = 0; i < cli_run_option_count; i++)
		printf("--%s ", cli_run_options[i].name);
	printf("--' -- \"$word\"))\n}\ncomplete -F _isorun isorun\n");
}

static void print_zsh(void)
{
	printf("#compdef isorun\n"
	       "_isorun() {\n"
	       "  if (( CURRENT == 2 )); then\n"
	       "    compadd ");
	print_commands();
	printf("--version; return\n  fi\n"
	       "  case $words[2] in\n"
	       "    doctor) compadd -- --json; return ;;\n"
	       "    completion) compadd bash zsh fish; return ;;\n"
	       "    run|plan) ;;\n"
	       "    *) return ;;\n"
	       "  esac\n"
	       "  shift words; (( CURRENT-- ))\n"
	       "  _arguments -S \\\n");
	for (size_t i = 0; i < cli_run_option_count; i++) {
		const struct cli_option *option = &cli_run_options[i];
		printf("    '*--%s[", option->name);
		print_quoted(option->help, "'\\''");
		printf("]");
		if (option->argument != NULL && is_choice(option->argument)) {
			printf(":value:(");
			print_words(option->argument);
			printf(")");
		} else if (option->argument != NULL) {
			printf(":value:%s", takes_directory(option->argument) ? "_files -/"
					    : takes_path(option->argument)    ? "_files"
									      : "");
		}
		printf("' \\\n");
	}
	printf("    '*::command:_normal'\n}\n_isorun \"$@\"\n");
}

static void print_fish(void)
{
	printf("complete -c isorun -f -n __fish_use_subcommand -a '");
	print_commands();
	printf("'\n"
	       "complete -c isorun -n '__fish_seen_subcommand_from doctor' -l json\n"
	       "complete -c isorun -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh "
	       "fish'\n");
	for (size_t i = 0; i < cli_run_option_count; i++) {
		const struct cli_option *option = &cli_run_options[i];
		printf("complete -c isorun -n '__fish_seen_subcommand_from run plan' -l %s -d '",
		       option->name);
		print_quoted(option->help, "\\'");
		printf("'");
		if (option->argument != NULL && is_choice(option->argument)) {
			printf(" -x -a '");
			print_words(option->argument);
			printf("'");
		} else if (option->argument != NULL) {
			printf(takes_directory(option->argument) || takes_path(option->argument)
				       ? " -r"
				       : " -x");
		}
		printf("\n");
	}
}

int cli_completion(char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	for (size_t i = 0; argv[0] != NULL && i < ISO_COUNT(shells); i++) {
		if (strcmp(argv[0], shells[i].name) == 0 && argv[1] == NULL) {
			shells[i].print();
			return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
		}
	}
	struct iso_error err = {0};
	iso_error_set(&err, ISO_ERR_INVALID, 0, "print completions: bash, zsh or fish is needed");
	cli_print_error(&err);
	return CLI_EXIT_FAILED;
}
