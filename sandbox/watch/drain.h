/*
 * One output stream of the payload: drained from a pipe, passed through live, hashed and retained.
 * Memory is one buffer and what is retained. One owner, not thread-safe.
 */
#ifndef ISORUN_SANDBOX_WATCH_DRAIN_H
#define ISORUN_SANDBOX_WATCH_DRAIN_H

#include <nettle/sha2.h>
#include <stdbool.h>

#include "runner/base/retain.h"
#include "runner/isorun.h"
#include "sandbox/watch/outlet.h"

struct iso_stream {
	int read_fd;  /* owned; -1 once ended */
	int write_fd; /* owned; the payload's end, closed after the launch */
	struct iso_outlet outlet;
	uint8_t *buffer;	 /* owned */
	size_t pending, written; /* bytes in `buffer`, and how many of them the outlet has */
	bool outlet_midline;	 /* the last byte that the outlet took ends no line */
	bool count_characters;
	uint64_t characters; /* bytes that start one, when they are counted */
	bool capture;
	struct sha256_ctx sha256;
	struct iso_retain retain;
	bool is_terminal;   /* `read_fd` is one's master side */
	int read_errno;	    /* why reading ended early, or 0 */
	int outlet_errno;   /* why passing through ended early, or 0 */
	bool out_of_memory; /* retention lost bytes */
	bool last_call;	    /* see there */
	size_t left;	    /* from then on: bytes that may still be in the pipe */
};

struct iso_stream_options {
	int outlet_fd; /* borrowed; where it is passed through, or -1 */
	bool capture;  /* hash and retain */
	enum iso_keep keep;
	uint64_t limit_bytes; /* of what is retained */
	bool count_characters;
	bool give_away; /* the pipe to these, so that the payload can open /dev/stdout */
	uint32_t owner_uid, owner_gid;
};

/* Create the pipe and choose the outlet. Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM. */
int iso_stream_open(struct iso_stream *ret_stream, const struct iso_stream_options *options,
		    struct iso_error *err);

/* Read from `fd` (taken over), a terminal's master side, from now on instead of the pipe. */
void iso_stream_take_terminal(struct iso_stream *stream, int fd);

/* What to poll: the pipe while nothing is pending, else the outlet. */
bool iso_stream_wants_read(const struct iso_stream *stream);
bool iso_stream_wants_write(const struct iso_stream *stream);

/* True when the pipe has ended and nothing is pending. */
bool iso_stream_ended(const struct iso_stream *stream);

/* Move a bounded amount of data; never blocks. */
void iso_stream_pump(struct iso_stream *stream);

/* All processes of the run have ended: what is in the pipe now is the last of it. Somebody else who
 * was given its other end is not waited for. */
void iso_stream_last_call(struct iso_stream *stream);

/* Give up passing through (`os_errno` says why); from here on the stream is only captured. */
void iso_stream_abandon_outlet(struct iso_stream *stream, int os_errno);

void iso_stream_done(struct iso_stream *stream);

#endif
