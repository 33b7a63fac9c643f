/* The generated parts, given names and sizes. */
#include "sandbox/embedded.h"

const struct sock_filter iso_default_filter[] = {
#include "seccomp_default.inc"
};
const size_t iso_default_filter_count = sizeof(iso_default_filter) / sizeof(iso_default_filter[0]);

const unsigned char iso_loopback_message[] = {
#include "loopback.inc"
};
const size_t iso_loopback_message_size = sizeof(iso_loopback_message);
