/*
 * Ed25519 keys (nettle), in the files that OpenSSL reads and writes: PKCS #8 for private keys, SPKI
 * for public ones, both PEM (RFC 8410).
 */
#ifndef ISORUN_AUDIT_SIGN_H
#define ISORUN_AUDIT_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/base/digest.h"
#include "runner/isorun.h"

#define ISO_KEY_SIZE	   32
#define ISO_SIGNATURE_SIZE 64
#define ISO_PEM_SIZE	   160

struct iso_audit_key {
	bool can_sign;
	uint8_t private_key[ISO_KEY_SIZE]; /* the seed */
	uint8_t public_key[ISO_KEY_SIZE];
};

/* A fresh key. Errors: ISO_ERR_SYSTEM. */
int iso_audit_key_generate(struct iso_audit_key *ret_key, struct iso_error *err);

/* Read PEM text of either kind. Errors: ISO_ERR_INVALID. */
int iso_audit_key_parse(const char *what, const char *pem, struct iso_audit_key *ret_key,
			struct iso_error *err);

/* The PEM text of the private or the public half. */
void iso_audit_key_print(const struct iso_audit_key *key, bool private_half,
			 char ret_pem[ISO_PEM_SIZE]);

/* Hexadecimal SHA-256 of the public key's SPKI form: a hint which key signed. */
void iso_audit_key_id(const struct iso_audit_key *key, char ret_id[ISO_SHA256_HEX_SIZE]);

void iso_audit_sign(const struct iso_audit_key *key, const void *data, size_t size,
		    uint8_t ret_signature[ISO_SIGNATURE_SIZE]);
bool iso_audit_signature_is_good(const struct iso_audit_key *key, const void *data, size_t size,
				 const uint8_t signature[ISO_SIGNATURE_SIZE]);

#endif
