/* The generated part, given a name and a size. */
#include "sandbox/filter/embedded.h"

#include "runner/base/array.h"

const struct sock_filter iso_default_filter[] = {
#include "seccomp_default.inc"
};
const size_t iso_default_filter_count = ISO_COUNT(iso_default_filter);
