/* Reading what the kernel counts, for the files of this room. Thread-safe. */
#ifndef ISORUN_SANDBOX_CGROUP_COUNTERS_H
#define ISORUN_SANDBOX_CGROUP_COUNTERS_H

#include <stdint.h>

#define ISO_CGROUP_COUNTERS_SIZE 4096 /* of a file of them */
#define ISO_CGROUP_INIT_COUNT	 1    /* the init is a member too, but not the payload's */

/* The number behind `key` in lines of "KEY NUMBER"; ISO_UNKNOWN where there is no such line. */
uint64_t iso_cgroup_find_value(const char *text, const char *key);

/* The same in the file `file` of `dir_fd`. */
uint64_t iso_cgroup_read_keyed(int dir_fd, const char *file, const char *key);

/* A file holding one number; "max" and unreadable files are ISO_UNLIMITED and ISO_UNKNOWN. */
uint64_t iso_cgroup_read_number(int dir_fd, const char *file);

#endif
