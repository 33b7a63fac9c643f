/* What the two halves of the init program share: its message, and how the second one reports. */
#ifndef ISORUN_SANDBOX_INIT_INIT_H
#define ISORUN_SANDBOX_INIT_INIT_H

#include "sandbox/child/steps.h"

union iso_init_message {
	struct iso_init_config config;
	char bytes[ISO_INIT_CONFIG_MAX];
};

/* What isorun sent; read once at the start. */
extern union iso_init_message iso_init_message;

/* The payload's side of its terminal, or -1. */
extern long iso_init_terminal;

/* Written by the payload's half, which shares this memory until its exec. */
extern volatile struct iso_record iso_init_spawn_failure;

/* Exit, at once. */
void iso_init_quit(int code) __attribute__((noreturn));

/* In the vforked process: become the payload and execute it, or note the failure and exit. */
void iso_init_payload(char **argv, char **env) __attribute__((noreturn));

#endif
