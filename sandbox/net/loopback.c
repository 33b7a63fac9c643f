/* The generated part, given a name and a size. */
#include "sandbox/net/loopback.h"

const unsigned char iso_loopback_message[] = {
#include "loopback.inc"
};
const size_t iso_loopback_message_size = sizeof(iso_loopback_message);
