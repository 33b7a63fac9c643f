/* Sizes only ever grow, and every member has zero bytes as its harmless value or a default. */
#include "runner/base/sized.h"

#include <string.h>

#include "runner/base/error.h"

static bool is_zero(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

int iso_sized_read(const void *given, size_t given_size, void *ret_ours, size_t size,
		   const char *name, struct iso_error *err)
{
	size_t common = given_size < size ? given_size : size;
	if (given_size < sizeof(size_t))
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read %s: it was not initialised with its macro", name);
	if (!is_zero((const char *)given + common, given_size - common))
		return iso_error_set(err, ISO_ERR_INVALID, 0,
				     "read %s: it has members that this library, which is older, "
				     "does not know",
				     name);
	memcpy(ret_ours, given, common);
	return 0;
}

void iso_sized_write(void *ret_given, size_t given_size, const void *ours, size_t size)
{
	size_t common = given_size < size ? given_size : size;
	memcpy(ret_given, ours, common);
	memset((char *)ret_given + common, 0, given_size - common);
}
