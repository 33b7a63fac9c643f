/*
 * The default seccomp profile as data: what a payload may call. sandbox/filter/gen_seccomp.c
 * compiles it at build time; the tests walk it both ways.
 *
 * What is not listed answers EPERM. What is newer than the libseccomp that compiled the profile
 * answers ENOSYS, as an older kernel would, so that programs fall back. Entry through another
 * architecture (i386, x32) kills.
 */
#ifndef ISORUN_SANDBOX_FILTER_SECCOMP_PROFILE_H
#define ISORUN_SANDBOX_FILTER_SECCOMP_PROFILE_H

#include <stdint.h>

/* Allowed whatever the arguments. NULL-terminated. */
extern const char *const iso_seccomp_allowed[];

/* Answered with ENOSYS although known. NULL-terminated. */
extern const char *const iso_seccomp_absent[];

/* Allowed only for these values of argument `index`. */
struct iso_seccomp_choice {
	const char *call;
	unsigned int index;
	const uint64_t *values; /* ascending */
	unsigned int value_count;
	int small_value_error; /* not 0: this errno instead of EPERM; values are all below 64 */
};
extern const struct iso_seccomp_choice iso_seccomp_choices[];
extern const unsigned int iso_seccomp_choice_count;

/* Allowed only when argument `index` has none of these bits. */
struct iso_seccomp_flags {
	const char *call;
	unsigned int index;
	uint64_t forbidden_mask;
};
extern const struct iso_seccomp_flags iso_seccomp_flag_rules[];
extern const unsigned int iso_seccomp_flag_rule_count;

/* The mode that a call gives a file, and may not hold a set-id bit: EPERM. Without CAP_FSETID. */
struct iso_seccomp_mode {
	const char *call;
	unsigned int mode_index; /* which argument it is */
	int flags_index; /* it is one only with O_CREAT or O_TMPFILE in this argument; or -1 */
};
#define ISO_SECCOMP_SET_ID 06000u
extern const struct iso_seccomp_mode iso_seccomp_modes[];
extern const unsigned int iso_seccomp_mode_count;

/* Calls on a process, which may not be PID 1, the init: EPERM. */
struct iso_seccomp_target {
	const char *call;
	unsigned int index; /* the argument with its number */
};
extern const struct iso_seccomp_target iso_seccomp_targets[];
extern const unsigned int iso_seccomp_target_count;

/* socket(2): families, each with the largest protocol; others are EAFNOSUPPORT and
 * EPROTONOSUPPORT. Some protocols below are refused likewise. */
struct iso_seccomp_family {
	uint32_t family, highest_protocol;
};
extern const struct iso_seccomp_family iso_seccomp_families[];
extern const unsigned int iso_seccomp_family_count;
extern const uint32_t iso_seccomp_protocols_refused[];
extern const unsigned int iso_seccomp_protocol_refused_count;

/* ioctl requests answered with EPERM; the low 32 bits are compared, as the kernel does. */
extern const uint32_t iso_seccomp_ioctls[];
extern const unsigned int iso_seccomp_ioctl_count;

#endif
