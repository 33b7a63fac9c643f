/*
 * A world is pure data: where a command will run. Its root and mounts, who it is there and on the
 * host, which filters hold, how much memory and how many processes there are. It holds no
 * descriptors, pids or clocks, so it can be printed, digested and compared without privileges; two
 * commands with worlds of one digest can use the same one.
 */
#ifndef ISORUN_SANDBOX_WORLD_H
#define ISORUN_SANDBOX_WORLD_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runner/base/text/json.h"
#include "runner/base/text/strv.h"
#include "runner/isorun.h"
#include "sandbox/filter/seccomp_custom.h"

/* One step of building the payload's file system, executed in order relative to its root. */
enum iso_fsop_kind {
	ISO_FSOP_UNSET = 0,
	ISO_FSOP_DIR,	   /* directory `target` with `mode` */
	ISO_FSOP_SYMLINK,  /* link `target` holding the text `source` */
	ISO_FSOP_FILE,	   /* file `target` with the content `source` */
	ISO_FSOP_DEVICE,   /* character device `target` as `source` on the host */
	ISO_FSOP_TMPFS,	   /* tmpfs of `size_bytes` and `mode` */
	ISO_FSOP_PROC,	   /* procfs of the new PID namespace */
	ISO_FSOP_DEVPTS,   /* private devpts instance */
	ISO_FSOP_BIND,	   /* recursive bind of host path `source` */
	ISO_FSOP_MASK,	   /* cover with an unreadable nothing */
	ISO_FSOP_COVER,	   /* cover the existing file `target` with the content `source` */
	ISO_FSOP_PROTECT,  /* cover `target` with a read-only view of itself */
	ISO_FSOP_READONLY, /* make the mount at `target` itself read-only */
};

struct iso_fsop {
	enum iso_fsop_kind kind;
	char *target;	     /* owned; absolute, normalised, inside; "/" is the root itself */
	char *source;	     /* owned; meaning by kind, or NULL */
	mode_t mode;	     /* permission bits; DIR, FILE, DEVICE, TMPFS */
	uint64_t size_bytes; /* TMPFS */
	bool writable;	     /* BIND: not read-only */
	bool device_files;   /* BIND, TMPFS: device nodes work */
	bool executable;     /* TMPFS: programs may be executed from it */
	bool optional;	     /* MASK, COVER, PROTECT, BIND: what does not exist is skipped */
	bool payload_owned;  /* DIR, TMPFS: belongs to the payload */
	bool owner_mapped;   /* BIND: the owner of `source` appears as the payload */
	bool by_caller; /* BIND: the caller named `source`; nothing else will do; not printed */
	uint64_t source_dev, source_ino; /* BIND: which object was meant; not printed */
};

enum iso_identity_kind {
	ISO_IDENTITY_UNSET = 0,
	ISO_IDENTITY_MAPPED, /* started as root: host ids that own nothing, a block for each run */
	ISO_IDENTITY_OWNER,  /* started as root, no id-mapping there: the workspace's owner */
	ISO_IDENTITY_CALLER, /* started as an ordinary user: that user */
};

struct iso_identity {
	enum iso_identity_kind kind;
	uint32_t inner_uid, inner_gid; /* as seen inside */
	uint32_t host_uid, host_gid; /* as the host sees the payload; MAPPED: known at the launch */
};

/* What the world's cgroup grants. */
struct iso_limits {
	uint64_t memory_max_bytes;
	uint64_t pids_max_count; /* processes of the payload, the init not counted */
	uint64_t cpu_max_millis; /* or ISO_UNLIMITED */
};

struct iso_world {
	char *workspace; /* owned; canonical host path */
	bool workspace_read_only;
	char *hostname; /* owned */
	struct iso_identity identity;
	struct iso_limits limits;
	struct iso_fsop *fsops; /* owned */
	size_t fsop_count;
	bool cgroup_optional;
	uint64_t capabilities; /* bit N: capability N in the payload's user namespace */
	struct iso_seccomp_custom
		seccomp;       /* owned; behind the default one; no instructions: none */
	uint32_t landlock_abi; /* the second wall; 0: this kernel has none that fits */
	uint64_t workspace_dev, workspace_ino; /* which directory was meant; not printed */
	struct iso_strv protected_paths;       /* workspace-relative; their creation is sensitive */
};

/* Release what a world owns; a zeroed one is fine. */
void iso_world_done(struct iso_world *world);

/*
 * Append an operation and return it for further filling (valid until the next call), or NULL when
 * out of memory. `target` is copied; `source`, which may be NULL, too.
 */
struct iso_fsop *iso_world_add(struct iso_world *world, enum iso_fsop_kind kind, const char *target,
			       const char *source);

/* The operation's word, e.g. "bind". Static. */
const char *iso_fsop_name(enum iso_fsop_kind kind);

/* The receipt's word for an identity, e.g. "mapped". Static. */
const char *iso_identity_name(enum iso_identity_kind kind);

/* Add all that is printed of a world to a JSON object, in a fixed order. */
void iso_world_print(const struct iso_world *world, struct iso_json *json, cJSON *object);

#endif
