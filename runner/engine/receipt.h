/* The receipt: what was asked, what was in force, what happened (docs/receipt.schema.json). */
#ifndef ISORUN_ENGINE_RECEIPT_H
#define ISORUN_ENGINE_RECEIPT_H

#include "runner/base/digest.h"
#include "runner/base/random.h"
#include "runner/workspace/diff.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/plan.h"
#include "sandbox/watch/classify.h"

/* One captured stream, finished. */
struct iso_captured {
	uint8_t *data; /* owned; the retained bytes */
	size_t size;
	uint64_t total_bytes;
	bool captured; /* false: only counted */
	bool truncated;
	bool counts_characters;
	uint64_t total_characters, retained_characters;
	enum iso_keep keep;
	char sha256[ISO_SHA256_HEX_SIZE];
};

#define ISO_RESULT_ID_BYTES 16

/* All that a receipt says. Plain data: the engine fills it, runner/engine/receipt.c prints it. */
struct iso_result {
	char id[ISO_RANDOM_HEX_SIZE(ISO_RESULT_ID_BYTES)];
	const char *tool; /* static; "run" or a tool's name */
	bool has_output;  /* a tool's answer is `output` */
	struct iso_captured output;
	char policy_sha256[ISO_SHA256_HEX_SIZE]; /* "" without a policy */
	bool audit_wanted, audit_recorded;	 /* in our log */
	struct iso_error audit_error;		 /* why not; code ISO_OK when it is */
	bool authority_told, authority_recorded; /* host.bash: at the authority */
	uint64_t audit_seq;
	char audit_hash[ISO_SHA256_HEX_SIZE];
	char *workdir; /* owned; host.bash: where it ran, or NULL */
	struct iso_outcome outcome;
	int64_t started_unix_ms;
	int64_t elapsed_us;
	char request_sha256[ISO_SHA256_HEX_SIZE]; /* of its text; "" when it could not be read */
	char plan_sha256[ISO_SHA256_HEX_SIZE];	  /* of its text; "" when there is no plan */
	bool launched;				  /* the fields below are those of a run */
	struct iso_cgroup_usage usage;
	uint64_t survivors_killed;
	struct iso_limits requested;
	struct iso_command_limits command_limits;
	uint64_t memory_effective_bytes, pids_effective_count, cpu_effective_millis;
	enum iso_cgroup_mode cgroup_mode;
	struct iso_identity identity;
	uint64_t capabilities; /* bits, as in the request */
	bool seccomp_custom;   /* a second filter was loaded */
	uint32_t landlock_abi; /* 0: none */
	char *workspace;       /* owned, or NULL */
	bool workspace_read_only;
	bool has_diff;
	struct iso_diff diff;		/* owned, when there is one */
	struct iso_captured streams[2]; /* stdout, stderr */
};

/* An empty result with a fresh id, started now. Errors: ISO_ERR_SYSTEM, ISO_ERR_NOMEM. */
int iso_result_new(struct iso_result **ret_result, struct iso_error *err);

/* As iso_result_receipt of runner/isorun.h. Requests get theirs from the desk (runner/ledger). */
int iso_receipt_print(const struct iso_result *result, char **ret_json, struct iso_error *err);

#endif
