/* A diff as lines for people. What a payload named is shown, never sent to a terminal as it is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/error.h"
#include "runner/workspace/diff.h"

/* A path with its control characters escaped. */
static void print_path(FILE *out, const char *path)
{
	for (; *path != '\0'; path++) {
		unsigned char byte = (unsigned char)*path;
		if (byte < ' ' || byte == 0x7f)
			fprintf(out, "\\x%02x", byte);
		else
			putc(byte, out);
	}
}

static const char *why_sensitive(const struct iso_diff *diff, const char *path)
{
	for (size_t i = 0; i < diff->sensitive.count; i++) {
		if (strcmp(diff->sensitive.paths[i], path) == 0)
			return diff->sensitive.whys[i];
	}
	return NULL;
}

static void print_list(FILE *out, const struct iso_diff *diff, const struct iso_diff_list *list,
		       char mark)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *why = mark == 'D' ? NULL : why_sensitive(diff, list->paths[i]);
		fprintf(out, "%c%c ", mark, why != NULL ? '!' : ' ');
		print_path(out, list->paths[i]);
		fprintf(out, why != NULL ? " (%s)\n" : "\n", why);
	}
	if (list->total > list->count)
		fprintf(out, "%c  … and %" PRIu64 " more\n", mark, list->total - list->count);
}

int iso_diff_print(const struct iso_diff *diff, char **ret_text, struct iso_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return iso_error_nomem(err);
	print_list(out, diff, &diff->created, 'A');
	print_list(out, diff, &diff->modified, 'M');
	print_list(out, diff, &diff->deleted, 'D');
	if (diff->incomplete)
		fprintf(out, "incomplete: %s\n", diff->incomplete);
	int failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return iso_error_nomem(err);
	}
	*ret_text = text;
	return 0;
}
