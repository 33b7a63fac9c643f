/* Limits in characters are met in two steps: the stream keeps as many bytes as that many
 * characters can take, and what is too much is cut at the end. */
#include "runner/engine/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/error.h"
#include "runner/base/text/utf8.h"

#define EXIT_OUTPUT_LOST 125
#define UTF8_LONGEST	 4

int iso_capture_open(struct iso_stream streams[2], const struct iso_streams *wanted,
		     const struct iso_identity *identity, const int outlets[2],
		     struct iso_error *err)
{
	for (int i = 0; i < 2; i++) {
		struct iso_stream_options options = {
			.outlet_fd = outlets[i],
			.capture = wanted->capture,
			.keep = wanted->keep,
			.limit_bytes = wanted->limits_each[i],
			.count_characters = wanted->count_characters,
			.give_away = identity->kind != ISO_IDENTITY_CALLER,
			.owner_uid = identity->host_uid,
			.owner_gid = identity->host_gid,
		};
		if (wanted->count_characters && options.limit_bytes < UINT64_MAX / UTF8_LONGEST)
			options.limit_bytes *= UTF8_LONGEST;
		if (iso_stream_open(&streams[i], &options, err) < 0)
			return -1;
	}
	return 0;
}

/* Leave at most `limit` characters, from the end that is kept. */
static void cut_to_characters(struct iso_captured *captured, uint64_t limit)
{
	size_t characters = iso_utf8_count(captured->data, captured->size);
	if (characters > limit) {
		captured->truncated = true;
		size_t surplus = characters - (size_t)limit;
		if (captured->keep == ISO_KEEP_TAIL) {
			size_t cut = iso_utf8_offset(captured->data, captured->size, surplus);
			captured->size -= cut;
			memmove(captured->data, captured->data + cut, captured->size);
		} else {
			captured->size =
				iso_utf8_offset(captured->data, captured->size, (size_t)limit);
		}
		characters = (size_t)limit;
	}
	captured->retained_characters = characters;
}

/* Keep what the stream retained, and its digest. */
static void keep_stream(struct iso_stream *stream, uint64_t limit,
			struct iso_captured *ret_captured)
{
	struct iso_captured captured = {
		.captured = stream->capture,
		.total_bytes = stream->retain.total_bytes,
		.keep = stream->retain.keep,
	};
	if (stream->capture) {
		iso_sha256_finish(&stream->sha256, captured.sha256);
		const uint8_t *data = iso_retain_finish(&stream->retain, &captured.size);
		captured.data = malloc(captured.size + 1);
		stream->out_of_memory |= captured.data == NULL;
		if (captured.data != NULL)
			memcpy(captured.data, data, captured.size);
		else
			captured.size = 0;
		captured.truncated = stream->out_of_memory || iso_retain_truncated(&stream->retain);
		if (stream->count_characters) {
			captured.counts_characters = true;
			captured.total_characters = stream->characters;
			cut_to_characters(&captured, limit);
		}
	}
	*ret_captured = captured;
}

/* Output that could not be read, or not be delivered as asked for, must not look like success. A
 * reader that left (EPIPE) is no error of ours: the payload saw that itself. */
static void note_lost_output(const struct iso_stream streams[2], struct iso_outcome *outcome)
{
	static const char *const names[2] = {"standard output", "standard error"};
	for (int i = 0; i < 2; i++) {
		const struct iso_stream *stream = &streams[i];
		bool undelivered = stream->outlet_errno != 0 && stream->outlet_errno != EPIPE;
		if (outcome->status != ISO_STATUS_COMPLETED ||
		    (stream->read_errno == 0 && !undelivered && !stream->out_of_memory))
			continue;
		outcome->status = ISO_STATUS_INTERNAL_ERROR;
		outcome->exit_code = EXIT_OUTPUT_LOST;
		outcome->error_class = ISO_CLASS_OUTPUT_LOST;
		if (stream->read_errno != 0)
			iso_error_set(&outcome->error, ISO_ERR_SYSTEM, stream->read_errno,
				      "read the command's %s", names[i]);
		else if (undelivered)
			iso_error_set(&outcome->error, ISO_ERR_SYSTEM, stream->outlet_errno,
				      "pass the command's %s through", names[i]);
		else
			iso_error_set(&outcome->error, ISO_ERR_NOMEM, ENOMEM,
				      "keep the command's %s", names[i]);
	}
}

void iso_capture_keep(struct iso_stream streams[2], const struct iso_streams *wanted,
		      struct iso_result *result)
{
	for (int i = 0; i < 2; i++)
		keep_stream(&streams[i], wanted->limits_each[i], &result->streams[i]);
	note_lost_output(streams, &result->outcome);
}
