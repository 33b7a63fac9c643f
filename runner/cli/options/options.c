/* "--name value", "--name=value" and "--flag". */
#include "runner/cli/options/options.h"

#include <stdio.h>
#include <string.h>

#include "runner/base/error.h"
#include "runner/base/text/parse.h"

#define LARGEST_ID (UINT32_MAX - 1)

int cli_refuse(struct iso_error *err, const char *option, const char *value, const char *rule)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0, "read option --%s \"%s\": %s", option, value,
			     rule);
}

static int read_count(const char *value, uint64_t *ret)
{
	return iso_parse_u64_range(value, 1, INT64_MAX, ret);
}

static int read_id(const char *value, uint64_t *ret)
{
	return iso_parse_u64_range(value, 0, LARGEST_ID, ret);
}

static int read_duration_or_0(const char *value, uint64_t *ret)
{
	if (strcmp(value, "0") != 0)
		return iso_parse_duration(value, ret);
	*ret = 0;
	return 0;
}

static const struct {
	int (*read)(const char *value, uint64_t *ret);
	const char *rule;
} numbers[] = {
	[CLI_SIZE] = {iso_parse_size,
		      "a positive whole number with an optional K, M or G is needed"},
	[CLI_COUNT] = {read_count, "a positive whole number is needed"},
	[CLI_ID] = {read_id, "a number from 0 to 4294967294 is needed"},
	[CLI_DURATION] = {iso_parse_duration,
			  "a positive duration such as 90, 1.5s, 200ms, 10m or 1h is needed"},
	[CLI_DURATION_OR_0] = {read_duration_or_0, "a duration such as 5s, or 0, is needed"},
	[CLI_CPUS] = {iso_parse_cpus, "a number such as 2 or 0.5 is needed"},
};

static int read_number(const struct cli_option *option, void *member, const char *value,
		       struct iso_error *err)
{
	uint64_t number;
	if (numbers[option->kind].read(value, &number) < 0)
		return cli_refuse(err, option->name, value, numbers[option->kind].rule);
	memcpy(member, &number, sizeof(number));
	return 0;
}

static int read_choice(const struct cli_option *option, void *member, const char *value,
		       struct iso_error *err)
{
	char rule[128] = "";
	size_t length = 0;
	for (const struct cli_choice *choice = option->choices; choice->word != NULL; choice++) {
		if (strcmp(choice->word, value) == 0) {
			int number = choice->value;
			bool flag = number != 0;
			if (option->size == sizeof(flag))
				memcpy(member, &flag, sizeof(flag));
			else
				memcpy(member, &number, sizeof(number));
			return 0;
		}
		int more = snprintf(rule + length, sizeof(rule) - length, "%s%s",
				    length > 0 ? " or " : "", choice->word);
		if (more > 0 && length + (size_t)more < sizeof(rule))
			length += (size_t)more;
	}
	snprintf(rule + length, sizeof(rule) - length, " is needed");
	return cli_refuse(err, option->name, value, rule);
}

static int apply(const struct cli_option *option, void *target, const char *value,
		 struct iso_error *err)
{
	char *member = (char *)target + option->offset;
	switch (option->kind) {
	case CLI_CALL:
		return option->apply(target, value, err);
	case CLI_FLAG:
		memcpy(member, &(bool){true}, sizeof(bool));
		return 0;
	case CLI_TEXT:
		memcpy(member, &value, sizeof(value));
		return 0;
	case CLI_CHOICE:
		return read_choice(option, member, value, err);
	default:
		return read_number(option, member, value, err);
	}
}

static const struct cli_option *find(const struct cli_option *options, const char *name,
				     size_t length)
{
	for (; options->name != NULL; options++) {
		if (strlen(options->name) == length && strncmp(options->name, name, length) == 0)
			return options;
	}
	return NULL;
}

/* Where the reading stands. */
struct reading {
	const struct cli_command *command;
	void *target;
	bool help;
};

/* Apply the option at `argv`, and say how many words it took. */
static int read_option(struct reading *reading, char **argv, int *ret_words, struct iso_error *err)
{
	const char *name = strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2 : "";
	size_t length = strcspn(name, "=");
	const char *value = name[length] == '=' ? name + length + 1 : NULL;
	static const struct cli_option help = {.name = "help"};
	const struct cli_option *option = length == strlen("help") && strncmp(name, "help", 4) == 0
						  ? &help
						  : find(reading->command->options, name, length);
	*ret_words = 1;
	if (option == NULL) {
		iso_error_set(err, ISO_ERR_INVALID, 0,
			      "read option \"%s\": there is no such option", argv[0]);
		return iso_error_hint(
			err, "isorun help %s lists the options%s", reading->command->name,
			reading->command->operand_count == CLI_ANY ? "; the command goes after --"
								   : "");
	}
	if (option->argument == NULL && value != NULL)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read option --%s \"%s\": it takes no value", option->name,
				     value);
	if (option == &help) {
		reading->help = true;
		return 0;
	}
	if (option->argument != NULL && value == NULL) {
		value = argv[1];
		if (value == NULL)
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read option --%s: its value %s is missing",
					     option->name, option->argument);
		*ret_words = 2;
	}
	return apply(option, reading->target, value, err);
}

static int check_operands(const struct cli_command *command, char *const *rest,
			  struct iso_error *err)
{
	int count = 0;
	while (rest[count] != NULL)
		count++;
	if (command->operand_count == CLI_ANY || count == command->operand_count)
		return 0;
	if (count > command->operand_count)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read \"%s\": nothing more is expected",
				     rest[command->operand_count]);
	iso_error_set(err, ISO_ERR_INVALID, 0, "read the command line: a word is missing");
	return iso_error_hint(err, "isorun help %s says which", command->name);
}

int cli_options_read(const struct cli_command *command, void *target, char **argv, char ***ret_rest,
		     struct iso_error *err)
{
	struct reading reading = {command, target, false};
	struct iso_error first = {0};
	int status = 0;
	while (*argv != NULL && strcmp(*argv, "--") != 0) {
		if ((*argv)[0] != '-' || (*argv)[1] == '\0')
			break; /* the command begins, or may begin when something was wrong */
		struct iso_error wrong = {0};
		int words = 1;
		if (read_option(&reading, argv, &words, &wrong) < 0 && status == 0) {
			status = -1;
			first = wrong;
		}
		argv += words;
	}
	if (status < 0) {
		*err = first;
		return -1;
	}
	*ret_rest = *argv != NULL && strcmp(*argv, "--") == 0 ? argv + 1 : argv;
	return reading.help ? 1 : check_operands(command, *ret_rest, err);
}
