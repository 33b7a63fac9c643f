/* The generated parts, given names and sizes. */
#include "sandbox/filter/embedded.h"

#include <linux/capability.h>

#include "runner/base/array.h"

static const struct sock_filter standard[] = {
#include "seccomp_default.inc"
};
static const struct sock_filter with_set_id[] = {
#include "seccomp_set_id.inc"
};

const struct sock_filter *iso_default_filter(uint64_t capabilities, size_t *ret_count)
{
	bool may_set_id = (capabilities & (UINT64_C(1) << CAP_FSETID)) != 0;
	*ret_count = may_set_id ? ISO_COUNT(with_set_id) : ISO_COUNT(standard);
	return may_set_id ? with_set_id : standard;
}
