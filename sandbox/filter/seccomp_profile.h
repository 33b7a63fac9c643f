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

/* ioctl requests answered with EPERM; the low 32 bits are compared, as the kernel does. */
extern const uint32_t iso_seccomp_ioctls[];
extern const unsigned int iso_seccomp_ioctl_count;

#endif
