/*
 * A small shell lexer. It knows quoting, variables that the line itself sets, substitutions, brace
 * lists, redirections and here-documents; it does not know what is on the host. Where the real
 * shell would do something else, the sandbox still holds: this is for verdicts by words only.
 */
#include "policy/shell/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/array.h"
#include "runner/base/cleanup.h"

#define VARIABLE_MAX 64
#define WORD_MAX     ((size_t)64 * 1024) /* bound on what variables can grow to */

struct text {
	char *data; /* owned, NUL-terminated once it is not NULL */
	size_t size;
	bool downloads;
};

struct reader {
	const char *at, *end;
	struct iso_line *line;
	struct iso_words *variables; /* "NAME=VALUE", shared with nested readers */
	enum iso_joint joint;	     /* of the next simple command */
	int depth;
	const char *document_end; /* behind the here-documents of this line, or NULL */
	bool failed;		  /* out of memory */
};

static void read_commands(struct reader *reader);

static void put(struct reader *reader, struct text *text, const char *data, size_t size)
{
	if (text->size + size > WORD_MAX)
		return;
	char *grown = realloc(text->data, text->size + size + 1);
	if (grown == NULL) {
		reader->failed = true;
		return;
	}
	memcpy(grown + text->size, data, size);
	text->data = grown;
	text->size += size;
	grown[text->size] = '\0';
}

static void put_char(struct reader *reader, struct text *text, char character)
{
	put(reader, text, &character, 1);
}

static struct iso_simple *current(const struct reader *reader)
{
	return &reader->line->commands[reader->line->count - 1];
}

static void begin_command(struct reader *reader, enum iso_joint joint)
{
	struct iso_line *line = reader->line;
	if (line->count > 0 && current(reader)->words.count == 0 &&
	    current(reader)->outputs.count == 0) {
		current(reader)->joint = joint;
		return;
	}
	struct iso_simple *grown =
		reallocarray(line->commands, line->count + 1, sizeof(*line->commands));
	if (grown == NULL) {
		reader->failed = true;
		return;
	}
	line->commands = grown;
	grown[line->count++] = (struct iso_simple){.joint = joint};
}

static bool more(const struct reader *reader)
{
	return reader->at < reader->end && !reader->failed;
}

static bool next_is(const struct reader *reader, const char *text)
{
	size_t length = strlen(text);
	return (size_t)(reader->end - reader->at) >= length &&
	       strncmp(reader->at, text, length) == 0;
}

/* Read `size` bytes at `at` as commands of their own, then go on with the line. */
static void read_nested(struct reader *reader, const char *at, size_t size)
{
	if (reader->depth >= ISO_WORDS_DEPTH)
		return;
	struct iso_line inner_line = {0};
	struct reader inner = {
		.at = at,
		.end = at + size,
		.line = &inner_line,
		.variables = reader->variables,
		.depth = reader->depth + 1,
	};
	begin_command(&inner, ISO_JOINT_START);
	read_commands(&inner);
	reader->failed |= inner.failed;
	/* In front of the command that holds them, which stays the last one. */
	size_t count = reader->line->count + inner_line.count;
	struct iso_simple *grown =
		reallocarray(reader->line->commands, count, sizeof(*reader->line->commands));
	if (grown == NULL) {
		reader->failed = true;
		iso_line_done(&inner_line);
		return;
	}
	struct iso_simple last = grown[reader->line->count - 1];
	memcpy(grown + reader->line->count - 1, inner_line.commands,
	       inner_line.count * sizeof(*grown));
	grown[count - 1] = last;
	reader->line->commands = grown;
	reader->line->count = count;
	free(inner_line.commands);
}

/* Where the substitution whose opening parenthesis was taken ends: at its closing one. */
static const char *find_closing(const struct reader *reader)
{
	int open = 1;
	char quote = '\0';
	for (const char *at = reader->at; at < reader->end; at++) {
		if (*at == '\\' && quote != '\'' && at + 1 < reader->end)
			at++;
		else if (quote != '\0')
			quote = (char)(*at == quote ? '\0' : quote);
		else if (*at == '\'' || *at == '"')
			quote = *at;
		else if (*at == '(')
			open++;
		else if (*at == ')' && --open == 0)
			return at;
	}
	return reader->end;
}

/* $(…), <(…) and `…`: read on their own; in the word stands what they are. */
static void read_substitution(struct reader *reader, struct text *word, const char *closing)
{
	size_t before = reader->line->count;
	read_nested(reader, reader->at, (size_t)(closing - reader->at));
	for (size_t i = before > 0 ? before - 1 : 0; i + 1 < reader->line->count; i++)
		word->downloads |= iso_simple_downloads(&reader->line->commands[i]);
	put(reader, word, "$()", 3);
	reader->at = closing < reader->end ? closing + 1 : closing;
}

/* The last assignment to a variable, or NULL. */
static const struct iso_word *find_variable(const struct reader *reader, const char *name,
					    size_t length)
{
	for (size_t i = reader->variables->count; i-- > 0;) {
		const struct iso_word *item = &reader->variables->items[i];
		if (strncmp(item->text, name, length) == 0 && item->text[length] == '=')
			return item;
	}
	return NULL;
}

static void append_word(struct reader *reader, struct iso_words *words, const char *text,
			bool downloads)
{
	char *copy = strdup(text);
	if (copy == NULL || !iso_array_grow(&words->items, words->count, sizeof(*words->items))) {
		free(copy);
		reader->failed = true;
		return;
	}
	words->items[words->count++] = (struct iso_word){copy, downloads};
}

static void free_words(struct iso_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i].text);
	free(words->items);
	*words = (struct iso_words){NULL, 0};
}

static size_t name_length(const char *at, const char *end)
{
	size_t length = 0;
	while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '_') &&
	       !(length == 0 && isdigit((unsigned char)at[length])))
		length++;
	return length;
}

static void read_dollar(struct reader *reader, struct text *word)
{
	if (next_is(reader, "(")) {
		reader->at++;
		read_substitution(reader, word, find_closing(reader));
		return;
	}
	bool braced = next_is(reader, "{");
	const char *name = reader->at + braced;
	size_t length = name_length(name, reader->end);
	const struct iso_word *value = length > 0 ? find_variable(reader, name, length) : NULL;
	const char *behind = name + length;
	if (braced) {
		const char *closing = memchr(behind, '}', (size_t)(reader->end - behind));
		behind = closing != NULL ? closing + 1 : reader->end;
	}
	if (value != NULL) {
		const char *text = value->text + length + 1;
		put(reader, word, text, strlen(text));
		word->downloads |= value->downloads;
	} else {
		put_char(reader, word, '$');
		put(reader, word, name, length);
	}
	reader->at = behind;
}

static void read_single_quotes(struct reader *reader, struct text *word)
{
	const char *closing = memchr(reader->at, '\'', (size_t)(reader->end - reader->at));
	const char *end = closing != NULL ? closing : reader->end;
	put(reader, word, reader->at, (size_t)(end - reader->at));
	reader->at = closing != NULL ? closing + 1 : end;
}

static void read_backquotes(struct reader *reader, struct text *word)
{
	const char *closing = memchr(reader->at, '`', (size_t)(reader->end - reader->at));
	read_substitution(reader, word, closing != NULL ? closing : reader->end);
}

static void read_double_quotes(struct reader *reader, struct text *word)
{
	while (more(reader) && *reader->at != '"') {
		char character = *reader->at++;
		if (character == '\\' && more(reader))
			put_char(reader, word, *reader->at++);
		else if (character == '$')
			read_dollar(reader, word);
		else if (character == '`')
			read_backquotes(reader, word);
		else
			put_char(reader, word, character);
	}
	if (more(reader))
		reader->at++;
}

static void set_variable(struct reader *reader, const char *assignment, bool downloads)
{
	if (reader->variables->count < VARIABLE_MAX)
		append_word(reader, reader->variables, assignment, downloads);
}

static void add_word(struct reader *reader, const char *word, bool downloads)
{
	struct iso_simple *simple = current(reader);
	append_word(reader, &simple->words, word, downloads);
	/* "NAME=VALUE" in front of, or without, a command sets a variable for what follows. */
	if (simple->words.count == 1 && iso_word_assigned(word) > 0)
		set_variable(reader, word, downloads);
	/* "for NAME in VALUES": each value, one after the other. */
	if (simple->words.count <= 3 || strcmp(simple->words.items[0].text, "for") != 0)
		return;
	ISO_AUTO_FREE char *assignment = iso_strf("%s=%s", simple->words.items[1].text, word);
	if (assignment == NULL)
		reader->failed = true;
	else
		set_variable(reader, assignment, downloads);
}

/* {a,b,c} as a whole word; and an unquoted variable that holds blanks: several words. */
static void add_split(struct reader *reader, const struct text *text, bool quoted)
{
	const char *word = text->data;
	size_t length = strlen(word);
	bool braces = length > 2 && word[0] == '{' && word[length - 1] == '}' &&
		      strchr(word, ',') != NULL;
	if (quoted || (!braces && strchr(word, ' ') == NULL)) {
		add_word(reader, word, text->downloads);
		return;
	}
	ISO_AUTO_FREE char *copy = strndup(word + braces, length - 2 * (size_t)braces);
	if (copy == NULL) {
		reader->failed = true;
		return;
	}
	char *rest = NULL;
	for (char *part = strtok_r(copy, braces ? "," : " ", &rest); part != NULL;
	     part = strtok_r(NULL, braces ? "," : " ", &rest))
		add_word(reader, part, text->downloads);
}

static bool ends_word(char character)
{
	return strchr(" \t\r\n;&|<>()", character) != NULL;
}

/* One word at the reader into `word`; whether any of it was quoted. */
static bool read_word(struct reader *reader, struct text *word)
{
	bool quoted = false;
	put(reader, word, "", 0);
	while (more(reader) && !ends_word(*reader->at)) {
		char character = *reader->at++;
		switch (character) {
		case '\\':
			if (more(reader) && *reader->at == '\n')
				reader->at++;
			else if (more(reader))
				put_char(reader, word, *reader->at++);
			break;
		case '\'':
			quoted = true;
			read_single_quotes(reader, word);
			break;
		case '"':
			quoted = true;
			read_double_quotes(reader, word);
			break;
		case '`':
			read_backquotes(reader, word);
			break;
		case '$':
			if (next_is(reader, "'") || next_is(reader, "\""))
				break; /* $'…' and $"…": the quotes follow */
			read_dollar(reader, word);
			break;
		default:
			put_char(reader, word, character);
		}
	}
	return quoted;
}

static bool is_shell(const char *base)
{
	size_t length = strlen(base);
	return length >= 2 && strcmp(base + length - 2, "sh") == 0;
}

/* A here-document: its body follows the line and is nobody's commands, unless a shell reads it. */
static void read_document(struct reader *reader, const char *delimiter)
{
	size_t length = strlen(delimiter);
	const char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	const char *body = reader->document_end != NULL ? reader->document_end
			   : newline != NULL		? newline + 1
							: reader->end;
	const char *line = body, *next = body;
	while (line < reader->end) {
		const char *end = memchr(line, '\n', (size_t)(reader->end - line));
		next = end != NULL ? end + 1 : reader->end;
		while (line < next && *line == '\t')
			line++;
		if ((size_t)(next - line) - (end != NULL) == length &&
		    strncmp(line, delimiter, length) == 0)
			break;
		line = next;
	}
	const struct iso_simple *simple = current(reader);
	size_t start = iso_simple_start(simple);
	if (start < simple->words.count && is_shell(iso_word_base(simple->words.items[start].text)))
		read_nested(reader, body, (size_t)(line - body));
	reader->document_end = next;
}

static void read_redirection(struct reader *reader)
{
	bool output = false, document = false;
	const char *begin = reader->at;
	while (more(reader) && strchr("<>&|-", *reader->at) != NULL && reader->at - begin < 3) {
		if (*reader->at == '-' && !document)
			break;
		output |= *reader->at == '>';
		reader->at++;
		document = reader->at - begin == 2 && strncmp(begin, "<<", 2) == 0;
	}
	while (more(reader) && (*reader->at == ' ' || *reader->at == '\t'))
		reader->at++;
	struct text word = {0};
	if (next_is(reader, "(")) { /* <(…) or >(…) as an argument */
		reader->at++;
		read_substitution(reader, &word, find_closing(reader));
		if (word.data != NULL)
			add_word(reader, word.data, word.downloads);
		free(word.data);
		return;
	}
	(void)read_word(reader, &word);
	if (word.data != NULL && document)
		read_document(reader, word.data);
	else if (word.data != NULL && output &&
		 iso_strv_add(&current(reader)->outputs, word.data) < 0)
		reader->failed = true;
	else if (word.data != NULL && !output)
		add_word(reader, word.data,
			 word.downloads); /* what is read is an argument like any other */
	free(word.data);
}

static void read_operator(struct reader *reader)
{
	bool pipe = *reader->at == '|' && !next_is(reader, "||");
	while (more(reader) && strchr(";&|\n", *reader->at) != NULL) {
		bool line_ends = *reader->at++ == '\n';
		if (line_ends && reader->document_end != NULL) {
			reader->at = reader->document_end;
			reader->document_end = NULL;
		}
	}
	begin_command(reader, pipe ? ISO_JOINT_PIPE : ISO_JOINT_NEXT);
}

static void read_one(struct reader *reader)
{
	char character = *reader->at;
	if (character == ' ' || character == '\t' || character == '\r') {
		reader->at++;
	} else if (character == '#') { /* a comment: words are read whole */
		while (more(reader) && *reader->at != '\n')
			reader->at++;
	} else if (next_is(reader, "&>") || character == '<' || character == '>') {
		read_redirection(reader);
	} else if (strchr(";&|\n", character) != NULL) {
		read_operator(reader);
	} else if (character == '(' || character == ')') {
		reader->at++;
		begin_command(reader, ISO_JOINT_NEXT);
	} else {
		struct text word = {0};
		bool quoted = read_word(reader, &word);
		bool is_number = word.data != NULL && *word.data != '\0' &&
				 word.data[strspn(word.data, "0123456789")] == '\0';
		bool redirects = more(reader) && (*reader->at == '<' || *reader->at == '>');
		if (word.data != NULL && !(is_number && redirects))
			add_split(reader, &word, quoted);
		free(word.data);
	}
}

static void read_commands(struct reader *reader)
{
	while (more(reader))
		read_one(reader);
}

int iso_line_read(const char *command, struct iso_line *ret_line)
{
	struct iso_line line = {0};
	ISO_CLEANUP(free_words) struct iso_words variables = {NULL, 0};
	struct reader reader = {
		.at = command,
		.end = command + strlen(command),
		.line = &line,
		.variables = &variables,
	};
	begin_command(&reader, ISO_JOINT_START);
	read_commands(&reader);
	if (reader.failed) {
		iso_line_done(&line);
		return -1;
	}
	*ret_line = line;
	return 0;
}

void iso_line_done(struct iso_line *line)
{
	for (size_t i = 0; i < line->count; i++) {
		free_words(&line->commands[i].words);
		iso_strv_done(&line->commands[i].outputs);
	}
	free(line->commands);
	*line = (struct iso_line){0};
}
