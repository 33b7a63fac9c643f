/*
 * The operator's policy (POL): what it says, as data. Parsing is strict and touches nothing but its
 * text; whoever loads a policy resolves `root` and keeps the file away from payloads (POL-1).
 */
#ifndef ISORUN_POLICY_POLICY_H
#define ISORUN_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/base/text/strv.h"
#include "runner/isorun.h"

/* Permission classes (POL-3), as bits. */
enum iso_permission {
	ISO_PERMISSION_READ = 1 << 0,
	ISO_PERMISSION_WRITE = 1 << 1,
	ISO_PERMISSION_EXECUTE = 1 << 2,
	ISO_PERMISSION_NETWORK = 1 << 3,
	ISO_PERMISSION_PRIVILEGED = 1 << 4,
	ISO_PERMISSION_IRREVERSIBLE = 1 << 5,
};
#define ISO_PERMISSION_COUNT 6

/* A command that shell.exec may run by its name. */
struct iso_policy_command {
	char *name;	      /* owned */
	struct iso_strv argv; /* owned, not empty */
};

struct iso_policy_mount {
	char *source, *target; /* owned; absolute */
	bool writable;
};

struct iso_policy {
	char *root;			     /* owned; as written, absolute */
	uint32_t permissions;		     /* enum iso_permission */
	struct iso_policy_command *commands; /* owned, in the order of the file */
	size_t command_count;
	uint64_t timeout_ms;	     /* of shell.exec and git.diff */
	uint64_t bash_timeout_ms;    /* of host.bash, the most that a caller may ask for */
	uint64_t output_limit_bytes; /* of what a receipt keeps */
	uint64_t max_file_bytes;     /* filesystem.read and .write */
	struct {
		uint64_t memory_bytes, pids, cpu_millis, nofile, fsize_bytes, tmp_bytes;
	} limits;			 /* each ISO_DEFAULT where the policy is silent */
	struct iso_policy_mount *mounts; /* owned */
	size_t mount_count;
	struct iso_strv pass_environment; /* names */
	struct iso_strv set_environment;  /* "NAME=VALUE" */
	struct iso_strv network_allow;	  /* host names, lower case; "*.example.org": all below */
	struct iso_strv private_names;	  /* beyond the built-in ones */
	struct iso_strv protected_paths;  /* relative to the root */
	struct iso_strv capabilities;	  /* names, as written */
	char *seccomp;			  /* owned; a profile's absolute path, or NULL */
	bool detached_given;
	enum iso_detached detached; /* when given */
	bool audit_required;
};

/*
 * Parse the text of a policy.
 *
 * what  for messages, such as `policy "ci.json"`
 *
 * Errors: ISO_ERR_INVALID names the JSON path; ISO_ERR_NOMEM. Thread-safe.
 */
int iso_policy_parse(const char *what, const char *text, size_t size, struct iso_policy *ret_policy,
		     struct iso_error *err);

/* Release everything; a zeroed policy is fine. */
void iso_policy_done(struct iso_policy *policy);

/* The configured command of that name, or NULL. */
const struct iso_policy_command *iso_policy_find_command(const struct iso_policy *policy,
							 const char *name);

/* "READ" and so on by bit number (0 to ISO_PERMISSION_COUNT - 1). Static. */
const char *iso_permission_name(unsigned int number);

#endif
