/* Line by line through a buffer of one line; a log may be larger than memory. */
#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/cleanup.h"
#include "runner/base/error.h"
#include "runner/base/file/fd.h"
#include "runner/base/text/base64.h"
#include "runner/base/text/parse.h"
#include "runner/base/text/strv.h"

#define BUFFER_SIZE ((size_t)64 * 1024)

struct verifier {
	const struct iso_audit_key *key;
	const struct iso_audit_checkpoint *checkpoint;
	struct iso_audit_verdict *verdict;
	struct iso_error *err;
};

static int condemn(struct verifier *verifier, uint64_t line, const char *reason)
{
	verifier->verdict->line = line;
	snprintf(verifier->verdict->reason, sizeof(verifier->verdict->reason), "%s", reason);
	return iso_error_set(verifier->err, ISO_ERR_INVALID, 0,
			     "verify the audit log: line %" PRIu64 ": %.200s", line, reason);
}

static int check_line(struct verifier *verifier, const char *line, size_t size, uint64_t number)
{
	struct iso_error reason = {0};
	struct iso_audit_head *head = &verifier->verdict->head;
	const struct iso_audit_checkpoint *checkpoint = verifier->checkpoint;
	if (iso_audit_line_check(line, size, verifier->key, true, head, &reason) < 0)
		return condemn(verifier, number, reason.message);
	if (checkpoint == NULL || head->seq != checkpoint->seq)
		return 0;
	verifier->verdict->checkpoint_seen = true;
	return strcmp(head->hash, checkpoint->hash) == 0
		       ? 0
		       : condemn(verifier, number, "it is not the line of the checkpoint");
}

static int verify_file(struct verifier *verifier, const char *path)
{
	ISO_AUTO_CLOSE int fd = iso_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	ISO_AUTO_FREE char *buffer = malloc(BUFFER_SIZE);
	size_t filled = 0;
	uint64_t number = 0;
	if (buffer == NULL)
		return iso_error_nomem(verifier->err);
	for (;;) {
		ssize_t count = fd < 0 ? -1 : read(fd, buffer + filled, BUFFER_SIZE - filled);
		if (count < 0 && fd >= 0 && errno == EINTR)
			continue;
		if (count < 0)
			return iso_error_set(verifier->err, ISO_ERR_SYSTEM, errno,
					     "read the audit log \"%s\"", path);
		filled += (size_t)count;
		char *line = buffer, *newline;
		while ((newline = memchr(line, '\n', filled - (size_t)(line - buffer))) != NULL) {
			if (check_line(verifier, line, (size_t)(newline - line), ++number) < 0)
				return -1;
			line = newline + 1;
		}
		filled -= (size_t)(line - buffer);
		memmove(buffer, line, filled);
		if (filled > ISO_AUDIT_LINE_MAX)
			return condemn(verifier, number + 1, "it is too long for a record");
		if (count == 0)
			return filled == 0 ? 0
					   : condemn(verifier, number + 1,
						     "it is torn: its end is missing");
	}
}

int iso_audit_verify(const char *const *paths, size_t path_count, const struct iso_audit_key *key,
		     const struct iso_audit_checkpoint *checkpoint,
		     struct iso_audit_verdict *ret_verdict, struct iso_error *err)
{
	*ret_verdict = (struct iso_audit_verdict){.line = 0};
	struct verifier verifier = {key, checkpoint, ret_verdict, err};
	iso_audit_head_init(&ret_verdict->head);
	for (size_t i = 0; i < path_count; i++) {
		ret_verdict->file = i;
		if (verify_file(&verifier, paths[i]) < 0)
			return -1;
	}
	if (checkpoint != NULL && checkpoint->seq > ret_verdict->head.seq) {
		char reason[128];
		snprintf(reason, sizeof(reason),
			 "the log ends here, and the checkpoint says it had %" PRIu64 " lines",
			 checkpoint->seq);
		return condemn(&verifier, ret_verdict->head.seq + 1, reason);
	}
	return 0;
}

/* "keyid4": the first four bytes of SHA-256(name, newline, 0x01, public key). */
static void note_key_id(const char *name, const struct iso_audit_key *key, uint8_t ret_id[4])
{
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_init(&context);
	sha256_update(&context, strlen(name), (const uint8_t *)name);
	sha256_update(&context, 2, (const uint8_t *)"\n\x01");
	sha256_update(&context, ISO_KEY_SIZE, key->public_key);
	sha256_digest(&context, sizeof(digest), digest);
	memcpy(ret_id, digest, 4);
}

static char *print_body(const char *origin, uint64_t seq, const char *hash)
{
	uint8_t bytes[SHA256_DIGEST_SIZE];
	iso_sha256_read(hash, bytes);
	ISO_AUTO_FREE char *root = iso_base64(bytes, sizeof(bytes));
	return root != NULL ? iso_strf("%s\n%" PRIu64 "\n%s\n", origin, seq, root) : NULL;
}

int iso_audit_checkpoint_print(const char *origin, const struct iso_audit_head *head,
			       const struct iso_audit_key *key, char **ret_text,
			       struct iso_error *err)
{
	uint8_t blob[4 + ISO_SIGNATURE_SIZE];
	if (*origin == '\0' || origin[strcspn(origin, "\n +")] != '\0')
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "use \"%s\" as origin: a name without blanks and plus signs "
				     "is needed",
				     origin);
	ISO_AUTO_FREE char *body = print_body(origin, head->seq, head->hash);
	if (body == NULL)
		return iso_error_nomem(err);
	note_key_id(origin, key, blob);
	iso_audit_sign(key, body, strlen(body), blob + 4);
	ISO_AUTO_FREE char *signature = iso_base64(blob, sizeof(blob));
	char *text = signature != NULL
			     ? iso_strf("%s\n\xe2\x80\x94 %s %s\n", body, origin, signature)
			     : NULL;
	if (text == NULL)
		return iso_error_nomem(err);
	*ret_text = text;
	return 0;
}

static int parse_checkpoint(char *text, const struct iso_audit_key *key,
			    struct iso_audit_checkpoint *checkpoint)
{
	char *signed_end = strstr(text, "\n\n\xe2\x80\x94 ");
	if (signed_end == NULL)
		return -1;
	char *signature_line = signed_end + 2;
	signed_end[1] = '\0';
	size_t body_size = strlen(text);
	char *rest = NULL;
	char *name = strtok_r(signature_line + 4, " ", &rest);
	char *signature = strtok_r(NULL, "\n", &rest);
	uint8_t blob[4 + ISO_SIGNATURE_SIZE], id[4];
	if (name == NULL || signature == NULL ||
	    !iso_base64_decode(signature, strlen(signature), blob, sizeof(blob)))
		return -1;
	note_key_id(name, key, id);
	if (memcmp(id, blob, sizeof(id)) != 0 ||
	    !iso_audit_signature_is_good(key, text, body_size, blob + 4))
		return -1;
	char *origin = strtok_r(text, "\n", &rest);
	char *size = strtok_r(NULL, "\n", &rest);
	char *root = strtok_r(NULL, "\n", &rest);
	uint8_t bytes[SHA256_DIGEST_SIZE];
	if (origin == NULL || size == NULL || root == NULL || strcmp(origin, name) != 0 ||
	    iso_parse_u64(size, &checkpoint->seq) < 0 ||
	    !iso_base64_decode(root, strlen(root), bytes, sizeof(bytes)))
		return -1;
	iso_sha256_print(bytes, checkpoint->hash);
	return 0;
}

int iso_audit_checkpoint_parse(const char *text, const struct iso_audit_key *key,
			       struct iso_audit_checkpoint *ret_checkpoint, struct iso_error *err)
{
	struct iso_audit_checkpoint checkpoint = {0};
	ISO_AUTO_FREE char *copy = strdup(text);
	if (copy == NULL)
		return iso_error_nomem(err);
	if (parse_checkpoint(copy, key, &checkpoint) < 0)
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read the checkpoint: it is none, or not signed by this key");
	*ret_checkpoint = checkpoint;
	return 0;
}
