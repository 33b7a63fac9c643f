/* "--name value", "--name=value" and "--flag", up to "--" or the first other word. */
#include "runner/cli/words.h"

#include <string.h>

#include "runner/base/error.h"

static const struct cli_word *find(const struct cli_word *words, const char *name, size_t length)
{
	for (; words->name != NULL; words++) {
		if (strlen(words->name) == length && strncmp(words->name, name, length) == 0)
			return words;
	}
	return NULL;
}

int cli_words_read(const struct cli_word *words, char **argv, char ***ret_rest,
		   struct iso_error *err)
{
	for (; *argv != NULL && (*argv)[0] == '-' && (*argv)[1] != '\0'; argv++) {
		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		const char *name = strncmp(*argv, "--", 2) == 0 ? *argv + 2 : "";
		size_t length = strcspn(name, "=");
		const struct cli_word *word = find(words, name, length);
		if (word == NULL)
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read option \"%s\": there is no such option", *argv);
		if (word->value == NULL && name[length] == '=')
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read option --%s: it takes no value", word->name);
		if (word->value == NULL) {
			*word->flag = true;
			continue;
		}
		if (name[length] != '=' && *++argv == NULL)
			return iso_error_set(err, ISO_ERR_INVALID, 0,
					     "read option --%s: its value is missing", word->name);
		*word->value = name[length] == '=' ? name + length + 1 : *argv;
	}
	*ret_rest = argv;
	return 0;
}
