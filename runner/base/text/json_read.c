/*
 * A recursive descent over at most ISO_JSON_DEPTH_MAX levels. The frames remember where the parser
 * stands, for the path in messages.
 */
#include "runner/base/text/json_read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/text/parse.h"
#include "runner/base/text/utf8.h"

#define PATH_SIZE 192

struct frame {
	bool is_object;
	const char *name; /* of the member being read, or NULL */
	size_t index;	  /* of the item being read */
};

struct parser {
	const char *what;
	const char *start, *at, *end;
	struct frame frames[ISO_JSON_DEPTH_MAX];
	size_t depth;
	struct iso_error *err;
};

static size_t print_step(char *path, size_t length, const char *name, size_t index)
{
	int added = name != NULL ? snprintf(path + length, PATH_SIZE - length, ".%s", name)
				 : snprintf(path + length, PATH_SIZE - length, "[%zu]", index);
	length += added > 0 ? (size_t)added : 0;
	return length < PATH_SIZE ? length : PATH_SIZE - 1;
}

static int refuse(const struct parser *parser, const char *reason)
{
	char path[PATH_SIZE] = "$";
	size_t length = 1, line = 1;
	for (size_t i = 0; i < parser->depth; i++) {
		const struct frame *frame = &parser->frames[i];
		if (!frame->is_object || frame->name != NULL)
			length = print_step(path, length, frame->name, frame->index);
	}
	for (const char *at = parser->start; at < parser->at; at++)
		line += *at == '\n';
	return iso_error_set(parser->err, ISO_ERR_INVALID, 0, "read %s: %s: %s (line %zu)",
			     parser->what, path, reason, line);
}

static void skip_blanks(struct parser *parser)
{
	while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) != NULL &&
	       *parser->at != '\0')
		parser->at++;
}

/* Whether `character` comes next; then it is taken. */
static bool take(struct parser *parser, char character)
{
	if (parser->at == parser->end || *parser->at != character)
		return false;
	parser->at++;
	return true;
}

static bool is_digit_next(const struct parser *parser)
{
	return parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
}

static bool take_digits(struct parser *parser)
{
	if (!is_digit_next(parser))
		return false;
	while (is_digit_next(parser))
		parser->at++;
	return true;
}

static int read_number(struct parser *parser, cJSON **ret_value)
{
	const char *begin = parser->at;
	bool valid = true;
	(void)take(parser, '-');
	if (!take(parser, '0'))
		valid = take_digits(parser);
	if (valid && take(parser, '.'))
		valid = take_digits(parser);
	if (valid && (take(parser, 'e') || take(parser, 'E'))) {
		if (!take(parser, '+'))
			(void)take(parser, '-');
		valid = take_digits(parser);
	}
	if (!valid || is_digit_next(parser))
		return refuse(parser, "this is no JSON value");
	ISO_AUTO_FREE char *text = strndup(begin, (size_t)(parser->at - begin));
	*ret_value = text != NULL ? cJSON_CreateRaw(text) : NULL;
	return *ret_value == NULL ? iso_error_nomem(parser->err) : 0;
}

/* Four hexadecimal digits, or -1. */
static long read_unit(struct parser *parser)
{
	long unit = 0;
	if (parser->end - parser->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef";
		char digit = *parser->at++;
		if (digit >= 'A' && digit <= 'F')
			digit = (char)(digit - 'A' + 'a');
		const char *found = digit != '\0' ? strchr(digits, digit) : NULL;
		if (found == NULL)
			return -1;
		unit = unit * 16 + (found - digits);
	}
	return unit;
}

/* The code point behind "\u", with its second half where there is one; -1: invalid. */
static long read_code_point(struct parser *parser)
{
	long unit = read_unit(parser);
	if (unit < 0xd800 || unit > 0xdfff)
		return unit;
	if (unit > 0xdbff || !take(parser, '\\') || !take(parser, 'u'))
		return -1;
	long low = read_unit(parser);
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

static char *put_utf8(char *out, long code)
{
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	} else {
		*out++ = (char)(0xf0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 0x3f));
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	}
	return out;
}

static int read_escape(struct parser *parser, char **out)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	if (take(parser, 'u')) {
		long code = read_code_point(parser);
		if (code < 0)
			return refuse(parser, "this \\u escape is invalid");
		if (code == 0)
			return refuse(parser, "NUL in a string");
		*out = put_utf8(*out, code);
		return 0;
	}
	const char *letter = parser->at < parser->end && *parser->at != '\0'
				     ? strchr(letters, *parser->at)
				     : NULL;
	if (letter == NULL)
		return refuse(parser, "this escape is invalid");
	parser->at++;
	*(*out)++ = meanings[letter - letters];
	return 0;
}

/* The string whose opening quote was taken, decoded, as one that the caller frees. */
static int read_string(struct parser *parser, char **ret_text)
{
	const char *closing = parser->at;
	while (closing < parser->end && *closing != '"')
		closing += *closing == '\\' && parser->end - closing > 1 ? 2 : 1;
	if (closing >= parser->end)
		return refuse(parser, "this string does not end");
	/* No escape is shorter than what it stands for. */
	ISO_AUTO_FREE char *text = malloc((size_t)(closing - parser->at) + 1);
	if (text == NULL)
		return iso_error_nomem(parser->err);
	char *out = text;
	while (parser->at < closing) {
		if (take(parser, '\\')) {
			if (read_escape(parser, &out) < 0)
				return -1;
			continue;
		}
		if ((unsigned char)*parser->at < 0x20)
			return refuse(parser, "a control character in a string");
		size_t size = iso_utf8_sequence((const uint8_t *)parser->at,
						(size_t)(closing - parser->at));
		if (size == 0)
			return refuse(parser, "a string that is not UTF-8");
		memcpy(out, parser->at, size);
		out += size;
		parser->at += size;
	}
	parser->at = closing + 1;
	*out = '\0';
	*ret_text = ISO_TAKE_PTR(text);
	return 0;
}

static int read_string_value(struct parser *parser, cJSON **ret_value)
{
	ISO_AUTO_FREE char *text = NULL;
	if (read_string(parser, &text) < 0)
		return -1;
	*ret_value = cJSON_CreateString(text);
	return *ret_value == NULL ? iso_error_nomem(parser->err) : 0;
}

static int read_value(struct parser *parser, cJSON **ret_value);

static int enter(struct parser *parser, bool is_object)
{
	if (parser->depth == ISO_JSON_DEPTH_MAX)
		return refuse(parser, "it is nested too deeply");
	parser->frames[parser->depth++] = (struct frame){.is_object = is_object};
	return 0;
}

static int read_items(struct parser *parser, cJSON *array)
{
	struct frame *frame = &parser->frames[parser->depth - 1];
	skip_blanks(parser);
	if (take(parser, ']'))
		return 0;
	for (; frame->index < ISO_JSON_MEMBER_MAX; frame->index++) {
		cJSON *item;
		if (read_value(parser, &item) < 0)
			return -1;
		cJSON_AddItemToArray(array, item);
		skip_blanks(parser);
		if (take(parser, ']'))
			return 0;
		if (!take(parser, ','))
			return refuse(parser, "a comma or ] is missing behind it");
	}
	return refuse(parser, "it has too many items");
}

static int read_member(struct parser *parser, cJSON *object)
{
	ISO_AUTO_FREE char *name = NULL;
	skip_blanks(parser);
	if (!take(parser, '"'))
		return refuse(parser, "a name in quotes is missing");
	if (read_string(parser, &name) < 0)
		return -1;
	struct frame *frame = &parser->frames[parser->depth - 1];
	frame->name = name;
	int status = -1;
	cJSON *value = NULL;
	if (cJSON_GetObjectItemCaseSensitive(object, name) != NULL)
		refuse(parser, "this name is there twice");
	else if (skip_blanks(parser), !take(parser, ':'))
		refuse(parser, "a colon is missing behind the name");
	else
		status = read_value(parser, &value);
	if (status == 0 && !cJSON_AddItemToObject(object, name, value)) {
		cJSON_Delete(value);
		status = iso_error_nomem(parser->err);
	}
	frame->name = NULL;
	return status;
}

static int read_members(struct parser *parser, cJSON *object)
{
	skip_blanks(parser);
	if (take(parser, '}'))
		return 0;
	for (size_t count = 0; count < ISO_JSON_MEMBER_MAX; count++) {
		if (read_member(parser, object) < 0)
			return -1;
		skip_blanks(parser);
		if (take(parser, '}'))
			return 0;
		if (!take(parser, ','))
			return refuse(parser, "a comma or } is missing");
	}
	return refuse(parser, "it has too many members");
}

static int read_container(struct parser *parser, bool is_object, cJSON **ret_value)
{
	if (enter(parser, is_object) < 0)
		return -1;
	cJSON *container = is_object ? cJSON_CreateObject() : cJSON_CreateArray();
	int status = container == NULL ? iso_error_nomem(parser->err)
		     : is_object       ? read_members(parser, container)
				       : read_items(parser, container);
	parser->depth--;
	if (status < 0)
		cJSON_Delete(container);
	else
		*ret_value = container;
	return status;
}

static bool take_word(struct parser *parser, const char *word)
{
	size_t length = strlen(word);
	if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
		return false;
	parser->at += length;
	return true;
}

static int read_value(struct parser *parser, cJSON **ret_value)
{
	cJSON *value = NULL;
	skip_blanks(parser);
	if (take(parser, '{'))
		return read_container(parser, true, ret_value);
	if (take(parser, '['))
		return read_container(parser, false, ret_value);
	if (take(parser, '"'))
		return read_string_value(parser, ret_value);
	if (take_word(parser, "true"))
		value = cJSON_CreateTrue();
	else if (take_word(parser, "false"))
		value = cJSON_CreateFalse();
	else if (take_word(parser, "null"))
		value = cJSON_CreateNull();
	else
		return read_number(parser, ret_value);
	*ret_value = value;
	return value == NULL ? iso_error_nomem(parser->err) : 0;
}

int iso_json_parse(const char *what, const char *text, size_t size, cJSON **ret_root,
		   struct iso_error *err)
{
	struct parser parser = {
		.what = what,
		.start = text,
		.at = text,
		.end = text + size,
		.err = err,
	};
	if (size > ISO_JSON_SIZE_MAX)
		return refuse(&parser, "it is larger than 1 MiB");
	cJSON *root;
	if (read_value(&parser, &root) < 0)
		return -1;
	skip_blanks(&parser);
	if (parser.at != parser.end) {
		cJSON_Delete(root);
		return refuse(&parser, "something stands behind the value");
	}
	*ret_root = root;
	return 0;
}

struct iso_json_at iso_json_root(const char *what, const cJSON *root)
{
	return (struct iso_json_at){.what = what, .value = root};
}

struct iso_json_at iso_json_member(const struct iso_json_at *object, const char *name)
{
	return (struct iso_json_at){
		.what = object->what,
		.value = cJSON_GetObjectItemCaseSensitive(object->value, name),
		.parent = object,
		.name = name,
	};
}

struct iso_json_at iso_json_item(const struct iso_json_at *array, size_t index)
{
	return (struct iso_json_at){
		.what = array->what,
		.value = cJSON_GetArrayItem(array->value, (int)index),
		.parent = array,
		.index = index,
	};
}

static size_t print_path(const struct iso_json_at *at, char path[PATH_SIZE])
{
	if (at->parent == NULL) {
		memcpy(path, "$", 2);
		return 1;
	}
	return print_step(path, print_path(at->parent, path), at->name, at->index);
}

int iso_json_refuse(const struct iso_json_at *at, struct iso_error *err, const char *format, ...)
{
	char path[PATH_SIZE], reason[256];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	print_path(at, path);
	return iso_error_set(err, ISO_ERR_INVALID, 0, "read %s: %s: %s", at->what, path, reason);
}

static bool is_known(const char *name, const char *const *known)
{
	for (; *known != NULL; known++) {
		if (strcmp(*known, name) == 0)
			return true;
	}
	return false;
}

int iso_json_object(const struct iso_json_at *at, const char *const *known, struct iso_error *err)
{
	if (!cJSON_IsObject(at->value))
		return iso_json_refuse(at, err, "an object is needed");
	const cJSON *item;
	cJSON_ArrayForEach(item, at->value)
	{
		struct iso_json_at member = iso_json_member(at, item->string);
		if (known != NULL && !is_known(item->string, known))
			return iso_json_refuse(&member, err, "nothing of this name is known");
	}
	return 0;
}

int iso_json_array(const struct iso_json_at *at, size_t *ret_count, struct iso_error *err)
{
	if (!cJSON_IsArray(at->value))
		return iso_json_refuse(at, err, "an array is needed");
	*ret_count = (size_t)cJSON_GetArraySize(at->value);
	return 0;
}

int iso_json_text(const struct iso_json_at *at, const char **ret_text, struct iso_error *err)
{
	if (!cJSON_IsString(at->value))
		return iso_json_refuse(at, err, "a string is needed");
	*ret_text = at->value->valuestring;
	return 0;
}

int iso_json_bool(const struct iso_json_at *at, bool *ret_value, struct iso_error *err)
{
	if (!cJSON_IsBool(at->value))
		return iso_json_refuse(at, err, "true or false is needed");
	*ret_value = cJSON_IsTrue(at->value);
	return 0;
}

int iso_json_whole(const struct iso_json_at *at, uint64_t minimum, uint64_t maximum,
		   uint64_t *ret_value, struct iso_error *err)
{
	uint64_t value;
	if (!cJSON_IsRaw(at->value) ||
	    iso_parse_u64_range(at->value->valuestring, minimum, maximum, &value) < 0)
		return iso_json_refuse(at, err,
				       "a whole number from %" PRIu64 " to %" PRIu64 " is needed",
				       minimum, maximum);
	*ret_value = value;
	return 0;
}

int iso_json_seconds(const struct iso_json_at *at, uint64_t *ret_ms, struct iso_error *err)
{
	if (!cJSON_IsRaw(at->value) ||
	    strspn(at->value->valuestring, "0123456789.") != strlen(at->value->valuestring) ||
	    iso_parse_duration(at->value->valuestring, ret_ms) < 0)
		return iso_json_refuse(at, err, "a positive number of seconds is needed");
	return 0;
}
