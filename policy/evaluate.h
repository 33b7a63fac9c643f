/*
 * The decision on a request: a pure function of policy and request (POL-8). What only the file
 * system or the authority can tell (PATH-2, CAP) is asked for where the tool runs.
 */
#ifndef ISORUN_POLICY_EVALUATE_H
#define ISORUN_POLICY_EVALUATE_H

#include "policy/tools.h"

struct iso_decision {
	bool allowed;
	const char *rule;	     /* that decided, e.g. "TOOL-1"; static */
	char sentence[512];	     /* why: the reason for a refusal, else what is granted */
	bool workspace_write;	     /* what runs may write to the workspace */
	uint64_t wall_limit_ms;	     /* commands only; else 0 */
	uint64_t output_limit_bytes; /* of the receipt */
	enum iso_detached detached;
};

/* Decide. `workdir` is the canonical directory in which host.bash would run (NULL: the root). */
void iso_evaluate(const struct iso_policy *policy, const struct iso_call *call, const char *workdir,
		  struct iso_decision *ret_decision);

/* The decision as a sentence for people, in lines, and as JSON text; the caller frees. */
int iso_decision_explain(const struct iso_policy *policy, const struct iso_call *call,
			 const struct iso_decision *decision, char **ret_text,
			 struct iso_error *err);

#endif
