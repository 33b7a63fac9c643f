/*
 * The file tools (TOOL-3 to TOOL-6), on the host, by descriptors only. Each result is text that the
 * caller frees. Errors: ISO_ERR_DENIED, ISO_ERR_INVALID and ISO_ERR_SYSTEM with the sentences of
 * the rules; ISO_ERR_NOMEM.
 */
#ifndef ISORUN_WORKSPACE_FILE_TOOLS_H
#define ISORUN_WORKSPACE_FILE_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "runner/workspace/place.h"

struct iso_text {
	char *data; /* owned */
	size_t size;
	bool truncated; /* the tool itself left something out */
};

/* A UTF-8 file of at most `limit` bytes. */
int iso_tool_read(const struct iso_workspace *workspace, const char *path, uint64_t limit,
		  struct iso_text *ret_text, struct iso_error *err);

/* A sorted JSON array of names, at most 1000. */
int iso_tool_list(const struct iso_workspace *workspace, const char *path,
		  struct iso_text *ret_text, struct iso_error *err);

/* Compare and swap; the result is {"path","sha256","bytes"}. `expected` may be NULL. */
int iso_tool_write(const struct iso_workspace *workspace, const char *path, const char *text,
		   const char *expected, struct iso_text *ret_text, struct iso_error *err);

#endif
