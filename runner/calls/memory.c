/*
 * On disk a call is a file named by the digest of its id, locked while the call runs:
 *	FINGERPRINT\n			begun
 *	FINGERPRINT\nEXIT-CODE\nRECEIPT\n	ended
 * A file that is not locked and has no receipt is a call whose process died: it is not run again.
 */
#include "runner/calls/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"

#define RECEIPT_MAX	   ((size_t)256 << 20)
#define ASKED_FOR_S	   3600 /* a younger call may still be asked for */
#define FINGERPRINT_LENGTH (ISO_SHA256_HEX_SIZE - 1)

int iso_call_memory_open(const char *state_dir, struct iso_call_memory *ret_memory,
			 struct iso_error *err)
{
	struct iso_call_memory memory = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.finished = PTHREAD_COND_INITIALIZER,
		.state = {.fd = -1},
	};
	memory.calls = calloc(ISO_CALLS_IN_MEMORY, sizeof(*memory.calls));
	if (memory.calls == NULL)
		return iso_error_nomem(err);
	if (state_dir != NULL && iso_state_dir_open(state_dir, "calls", ISO_CALLS_ON_DISK,
						    ASKED_FOR_S, &memory.state, err) < 0) {
		free(memory.calls);
		return -1;
	}
	*ret_memory = memory;
	return 0;
}

void iso_call_memory_close(struct iso_call_memory *memory)
{
	for (size_t i = 0; memory->calls != NULL && i < ISO_CALLS_IN_MEMORY; i++)
		free(memory->calls[i].receipt);
	free(memory->calls);
	iso_state_dir_close(&memory->state);
	memory->calls = NULL;
}

static int reused(struct iso_error *err)
{
	return iso_error_set(err, ISO_ERR_INVALID, 0,
			     "Idempotency key reused for different operation");
}

static int copy_receipt(const char *receipt, char **ret_receipt, struct iso_error *err)
{
	*ret_receipt = strdup(receipt);
	return *ret_receipt == NULL ? iso_error_nomem(err) : 0;
}

static struct iso_remembered *find(struct iso_call_memory *memory, const char *id)
{
	for (size_t i = 0; i < ISO_CALLS_IN_MEMORY; i++) {
		if (strcmp(memory->calls[i].id, id) == 0)
			return &memory->calls[i];
	}
	return NULL;
}

/* The oldest call that has ended gives its place; NULL: all of them run. */
static struct iso_remembered *make_place(struct iso_call_memory *memory)
{
	for (size_t tries = 0; tries < ISO_CALLS_IN_MEMORY; tries++) {
		struct iso_remembered *call = &memory->calls[memory->next];
		memory->next = (memory->next + 1) % ISO_CALLS_IN_MEMORY;
		if (call->id[0] == '\0' || call->receipt != NULL) {
			free(call->receipt);
			*call = (struct iso_remembered){.exit_code = 0};
			return call;
		}
	}
	return NULL;
}

/* In this process: 1 to run, 0 with the receipt, -1. */
static int begin_here(struct iso_call_memory *memory, const struct iso_call_ticket *ticket,
		      struct iso_answer *ret_answer, struct iso_error *err)
{
	struct iso_remembered *known = find(memory, ticket->id);
	while (known != NULL && known->receipt == NULL &&
	       strcmp(known->fingerprint, ticket->fingerprint) == 0) {
		pthread_cond_wait(&memory->finished, &memory->lock);
		known = find(memory, ticket->id);
	}
	if (known != NULL && strcmp(known->fingerprint, ticket->fingerprint) != 0)
		return reused(err);
	if (known != NULL) {
		ret_answer->exit_code = known->exit_code;
		return copy_receipt(known->receipt, &ret_answer->receipt, err);
	}
	known = make_place(memory);
	if (known == NULL)
		return iso_error_set(err, ISO_ERR_SYSTEM, EAGAIN,
				     "remember the call: too many run at once");
	memcpy(known->id, ticket->id, sizeof(known->id));
	memcpy(known->fingerprint, ticket->fingerprint, sizeof(known->fingerprint));
	return 1;
}

/* What the locked file says. */
static int read_call(const struct iso_call_ticket *ticket, struct iso_answer *ret_answer,
		     struct iso_error *err)
{
	ISO_AUTO_FREE char *text = NULL;
	size_t size;
	if (iso_fd_read_all(ticket->fd, RECEIPT_MAX, &text, &size) < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "read a remembered call");
	if (size == 0)
		return 1; /* just made */
	if (size <= FINGERPRINT_LENGTH ||
	    strncmp(text, ticket->fingerprint, FINGERPRINT_LENGTH) != 0)
		return reused(err);
	const char *code = text + FINGERPRINT_LENGTH + 1;
	const char *receipt = strchr(code, '\n');
	if (receipt == NULL || receipt[1] == '\0' || text[size - 1] != '\n')
		return iso_error_set(err, ISO_ERR_DENIED, 0,
				     "the first call with this id was interrupted; its outcome is "
				     "not known, and it is not run again");
	text[size - 1] = '\0';
	ret_answer->exit_code = (int)strtol(code, NULL, 10);
	return copy_receipt(receipt + 1, &ret_answer->receipt, err);
}

/* Among processes: the same by a locked file. */
static int begin_on_disk(struct iso_call_memory *memory, struct iso_call_ticket *ticket,
			 struct iso_answer *ret_answer, struct iso_error *err)
{
	char line[ISO_SHA256_HEX_SIZE + 1];
	ISO_AUTO_CLOSE int fd = iso_fd_above_stdio(openat(
		memory->state.fd, ticket->id, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "remember the call");
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return iso_error_set(err, ISO_ERR_SYSTEM, errno, "lock the call");
	}
	ticket->fd = fd;
	int status = read_call(ticket, ret_answer, err);
	if (status == 1) {
		iso_state_dir_added(&memory->state);
		snprintf(line, sizeof(line), "%s\n", ticket->fingerprint);
		if (iso_fd_write_all(fd, line, strlen(line)) < 0 || fsync(fd) < 0)
			status = iso_error_set(err, ISO_ERR_SYSTEM, errno, "remember the call");
	}
	if (status == 1)
		ISO_TAKE_FD(fd);
	else
		ticket->fd = -1;
	return status;
}

int iso_call_memory_begin(struct iso_call_memory *memory, const char *call_id,
			  const char *canonical, struct iso_call_ticket *ret_ticket,
			  struct iso_answer *ret_answer, struct iso_error *err)
{
	*ret_ticket = (struct iso_call_ticket){.fd = -1};
	if (call_id == NULL)
		return 1;
	if (*call_id == '\0' || strlen(call_id) > ISO_CALL_ID_MAX)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read the call id: 1 to %d bytes are needed", ISO_CALL_ID_MAX);
	iso_sha256_hex(call_id, strlen(call_id), ret_ticket->id);
	iso_sha256_hex(canonical, strlen(canonical), ret_ticket->fingerprint);
	pthread_mutex_lock(&memory->lock);
	int status = begin_here(memory, ret_ticket, ret_answer, err);
	pthread_mutex_unlock(&memory->lock);
	if (status != 1 || memory->state.fd < 0)
		return status;
	status = begin_on_disk(memory, ret_ticket, ret_answer, err);
	if (status == 1)
		return 1;
	/* It ran in another process, or cannot run: those who wait here look there, too. */
	pthread_mutex_lock(&memory->lock);
	struct iso_remembered *known = find(memory, ret_ticket->id);
	if (known != NULL)
		known->id[0] = '\0';
	pthread_cond_broadcast(&memory->finished);
	pthread_mutex_unlock(&memory->lock);
	return status;
}

/* Without a receipt there the call counts as interrupted, which is safe. */
static void write_receipt(int fd, const char *receipt, int exit_code)
{
	char line[16];
	snprintf(line, sizeof(line), "%d\n", exit_code);
	if (iso_fd_write_all(fd, line, strlen(line)) == 0 &&
	    iso_fd_write_all(fd, receipt, strlen(receipt)) == 0 &&
	    iso_fd_write_all(fd, "\n", 1) == 0)
		(void)fdatasync(fd); /* the next reader says what is missing */
}

void iso_call_memory_end(struct iso_call_memory *memory, struct iso_call_ticket *ticket,
			 const struct iso_answer *answer)
{
	if (ticket->id[0] == '\0')
		return;
	if (ticket->fd >= 0 && answer->receipt != NULL)
		write_receipt(ticket->fd, answer->receipt, answer->exit_code);
	ticket->fd = iso_fd_close(ticket->fd);
	pthread_mutex_lock(&memory->lock);
	struct iso_remembered *known = find(memory, ticket->id);
	if (known != NULL) {
		known->exit_code = answer->exit_code;
		known->receipt = answer->receipt != NULL ? strdup(answer->receipt) : NULL;
		if (known->receipt == NULL)
			known->id[0] = '\0'; /* forgotten */
	}
	pthread_cond_broadcast(&memory->finished);
	pthread_mutex_unlock(&memory->lock);
}
