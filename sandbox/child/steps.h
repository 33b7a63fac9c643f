/*
 * What the child and the init report, in fixed records over one SOCK_SEQPACKET pair. The parent has
 * the plan and owns the words (sandbox/watch/report.c).
 */
#ifndef ISORUN_SANDBOX_CHILD_STEPS_H
#define ISORUN_SANDBOX_CHILD_STEPS_H

#include <stdint.h>

/* Set-up steps, roughly as they follow each other; the text completes "could not …". */
#define ISO_STEPS(X)                                              \
	X(CGROUP_JOIN, "join the cgroup")                         \
	X(CGROUP_NAMESPACE, "unshare the cgroup namespace")       \
	X(ID_MAP, "map the caller's ids into the user namespace") \
	X(PROPAGATION, "make the mount tree private")             \
	X(TEMPLATE, "copy the mounts that runs have in common")   \
	X(ROOT, "mount the root file system")                     \
	X(FSOP, "build the file system")                          \
	X(HOSTNAME, "set the host name")                          \
	X(LOOPBACK, "bring up the loopback interface")            \
	X(PIVOT, "change the root")                               \
	X(DESCRIPTORS, "arrange the descriptors")                 \
	X(EXEC_INIT, "execute the init")                          \
	X(INIT_CONFIG, "receive the init's configuration")        \
	X(IDENTITY, "take on the payload's identity")             \
	X(USER_NAMESPACE, "unshare the user namespace")           \
	X(OWN_NETWORK, "make a network of the user namespace")    \
	X(CAPABILITIES, "drop the capabilities")                  \
	X(NO_NEW_PRIVS, "set no_new_privs")                       \
	X(TERMINAL, "create the pseudo-terminal")                 \
	X(FORK, "create the payload process")                     \
	X(SESSION, "create the session")                          \
	X(RLIMIT, "set the resource limit")                       \
	X(LANDLOCK, "restrict the file system by Landlock")       \
	X(SECCOMP, "load the seccomp filter")                     \
	X(WORKDIR, "enter the working directory")                 \
	X(EXEC, "execute the command")

enum iso_step {
	ISO_STEP_UNSET = 0,
#define ISO_STEP_ENUM(name, text) ISO_STEP_##name,
	ISO_STEPS(ISO_STEP_ENUM)
#undef ISO_STEP_ENUM
		ISO_STEP_COUNT
};

/* How far a child is: the step and its index in one word, which is read while it is written. */
static inline uint64_t iso_step_pack(enum iso_step step, uint32_t index)
{
	return (uint64_t)step << 32 | index;
}

static inline enum iso_step iso_step_of(uint64_t packed)
{
	return (enum iso_step)(packed >> 32);
}

enum iso_record_type {
	ISO_RECORD_UNSET = 0,
	ISO_RECORD_FAILED,    /* step, index (which operation or limit), value (errno) */
	ISO_RECORD_NAMESPACE, /* a user namespace was made: any answer says that it is mapped */
	ISO_RECORD_TERMINAL,  /* with the descriptor of the payload's terminal (its master side) */
	ISO_RECORD_STARTED,   /* the payload's exec succeeded */
	ISO_RECORD_EXITED,    /* value: wait status; index: 1 when descendants are left */
};

struct iso_record {
	uint32_t type; /* enum iso_record_type */
	uint32_t step; /* enum iso_step */
	uint32_t index;
	int32_t value;
};

/* Descriptors of the init at its exec, after the payload's own 0 to 2. */
enum {
	ISO_INIT_FD_CONTROL = 3, /* its end of the pair */
	ISO_INIT_FD_PARENT = 4,	 /* pidfd of isorun: readable when that has died */
	ISO_INIT_FD_COUNT = 5,
};

/* What the parent sends first on the pair, once, as one message: this header, `filter_count` and
 * `custom_count` instructions of 8 bytes, then NUL-terminated strings: the working directory, the
 * executable search path, the writable paths. */
#define ISO_INIT_RLIMIT_MAX 8
#define ISO_INIT_CONFIG_MAX (UINT32_C(48) << 10)
#define ISO_INIT_CONFIG_TAG 0x49534f31u /* "ISO1": both sides are built together */

struct iso_init_rlimit {
	uint32_t resource;
	uint32_t reserved;
	uint64_t soft, hard;
};

struct iso_init_config {
	uint32_t tag;
	uint32_t size; /* of the whole message */
	uint32_t
		make_user_namespace; /* 1: started as root; isorun maps it (ISO_RECORD_NAMESPACE) */
	uint32_t host_uid, host_gid; /* then: who to be, as the host sees it */
	uint32_t rlimit_count;
	struct iso_init_rlimit rlimits[ISO_INIT_RLIMIT_MAX];
	uint64_t capabilities;	 /* bit N: the payload keeps capability N */
	uint32_t filter_count;	 /* the default filter, then */
	uint32_t custom_count;	 /* another that is loaded last, or 0 */
	uint32_t workdir_offset; /* from the start of the message */
	uint32_t path_offset;
	uint16_t tty_rows, tty_columns; /* not 0: the payload gets a terminal of this size */
	uint32_t landlock_abi;		/* 0: do without */
	uint32_t writable_offset;	/* NUL-terminated paths, one after the other, */
	uint32_t writable_count;	/* below which the payload may write */
};

#endif
