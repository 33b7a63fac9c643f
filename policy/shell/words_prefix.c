/* Words that stand in front of a command without being it. */
#include <ctype.h>
#include <string.h>

#include "policy/shell/words.h"
#include "runner/base/array.h"

const char *iso_word_base(const char *word)
{
	const char *slash = strrchr(word, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : word;
}

size_t iso_word_assigned(const char *word)
{
	size_t length = 0;
	if (isdigit((unsigned char)word[0]))
		return 0;
	while (isalnum((unsigned char)word[length]) || word[length] == '_')
		length++;
	return word[length] == '=' ? length : 0;
}

/* Words that stand in front of a command, and which of their options take a value. */
static const struct {
	const char *name;
	const char *with_value; /* option letters */
	int operands;		/* words of its own before the command */
} prefixes[] = {
	{"sudo", "ugpCDhrtTU", 0},
	{"doas", "uC", 0},
	{"env", "uC", 0},
	{"nohup", "", 0},
	{"nice", "n", 0},
	{"ionice", "cnp", 0},
	{"time", "fo", 0},
	{"timeout", "sk", 1},
	{"stdbuf", "", 0},
	{"setsid", "", 0},
	{"command", "", 0},
	{"exec", "a", 0},
	{"builtin", "", 0},
	{"xargs", "nIPdLsE", 0},
	{"busybox", "", 0},
	{"chrt", "", 1},
	{"taskset", "", 1},
	{"if", "", 0},
	{"then", "", 0},
	{"else", "", 0},
	{"elif", "", 0},
	{"do", "", 0},
	{"while", "", 0},
	{"until", "", 0},
	{"!", "", 0},
	{"{", "", 0},
	{"coproc", "", 0},
	{"}", "", 0},
};

static size_t skip_prefix(const struct iso_words *words, size_t at, size_t prefix)
{
	const char *with_value = prefixes[prefix].with_value;
	for (at++; at < words->count && words->items[at].text[0] == '-'; at++) {
		const char *option = words->items[at].text;
		if (strcmp(option, "--") == 0) {
			at++;
			break;
		}
		size_t length = strlen(option);
		if (option[1] != '-' && length == 2 && strchr(with_value, option[1]) != NULL)
			at++;
	}
	for (int i = 0; i < prefixes[prefix].operands && at < words->count; i++)
		at++;
	return at;
}

size_t iso_simple_start(const struct iso_simple *simple)
{
	const struct iso_words *words = &simple->words;
	size_t at = 0;
	while (at < words->count) {
		const char *word = words->items[at].text;
		if (iso_word_assigned(word) > 0) {
			at++;
			continue;
		}
		size_t prefix = 0, count = ISO_COUNT(prefixes);
		while (prefix < count && strcmp(prefixes[prefix].name, iso_word_base(word)) != 0)
			prefix++;
		if (prefix == count)
			return at;
		at = skip_prefix(words, at, prefix);
	}
	return at < words->count ? at : words->count;
}

bool iso_simple_downloads(const struct iso_simple *simple)
{
	static const char *const names[] = {"curl", "wget",  "aria2c", "fetch", "lynx",
					    "http", "https", "nc",     "ncat",	"scp"};
	size_t start = iso_simple_start(simple);
	if (start == simple->words.count)
		return false;
	const char *base = iso_word_base(simple->words.items[start].text);
	for (size_t i = 0; i < ISO_COUNT(names); i++) {
		if (strcmp(names[i], base) == 0)
			return true;
	}
	return false;
}
