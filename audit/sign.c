/* The DER of an Ed25519 key is a constant prefix and 32 bytes; nothing has to be parsed. */
#include "audit/sign.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/eddsa.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "runner/base/error.h"
#include "runner/base/text/base64.h"

static const uint8_t private_prefix[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
					 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
static const uint8_t public_prefix[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
					0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

#define DER_MAX (sizeof(private_prefix) + ISO_KEY_SIZE)

int iso_audit_key_generate(struct iso_audit_key *ret_key, struct iso_error *err)
{
	struct iso_audit_key key = {.can_sign = true};
	if (getrandom(key.private_key, sizeof(key.private_key), 0) !=
	    (ssize_t)sizeof(key.private_key))
		return iso_error_set(err, ISO_ERR_SYSTEM, errno, "get random bytes");
	ed25519_sha512_public_key(key.public_key, key.private_key);
	*ret_key = key;
	return 0;
}

/* The base64 body between the PEM lines of `label`, blanks removed; its length, or 0. */
static size_t pem_body(const char *pem, const char *label, char *body, size_t size)
{
	char begin[64], end[64];
	snprintf(begin, sizeof(begin), "-----BEGIN %s-----", label);
	snprintf(end, sizeof(end), "-----END %s-----", label);
	const char *from = strstr(pem, begin);
	const char *to = from != NULL ? strstr(from, end) : NULL;
	size_t length = 0;
	if (to == NULL)
		return 0;
	for (from += strlen(begin); from < to && length + 1 < size; from++) {
		if (strchr("\r\n \t", *from) == NULL)
			body[length++] = *from;
	}
	body[length] = '\0';
	return length;
}

int iso_audit_key_parse(const char *what, const char *pem, struct iso_audit_key *ret_key,
			struct iso_error *err)
{
	char body[128];
	uint8_t der[DER_MAX];
	struct iso_audit_key key = {0};
	size_t length = pem_body(pem, "PRIVATE KEY", body, sizeof(body));
	if (length > 0 && iso_base64_decode(body, length, der, DER_MAX) &&
	    memcmp(der, private_prefix, sizeof(private_prefix)) == 0) {
		key.can_sign = true;
		memcpy(key.private_key, der + sizeof(private_prefix), ISO_KEY_SIZE);
		ed25519_sha512_public_key(key.public_key, key.private_key);
		*ret_key = key;
		return 0;
	}
	length = pem_body(pem, "PUBLIC KEY", body, sizeof(body));
	if (length > 0 &&
	    iso_base64_decode(body, length, der, sizeof(public_prefix) + ISO_KEY_SIZE) &&
	    memcmp(der, public_prefix, sizeof(public_prefix)) == 0) {
		memcpy(key.public_key, der + sizeof(public_prefix), ISO_KEY_SIZE);
		*ret_key = key;
		return 0;
	}
	return iso_error_set(err, ISO_ERR_INVALID, 0, "read %s: it is no Ed25519 key in PEM form",
			     what);
}

static size_t print_der(const struct iso_audit_key *key, bool private_half, uint8_t der[DER_MAX])
{
	const uint8_t *prefix = private_half ? private_prefix : public_prefix;
	size_t size = private_half ? sizeof(private_prefix) : sizeof(public_prefix);
	memcpy(der, prefix, size);
	memcpy(der + size, private_half ? key->private_key : key->public_key, ISO_KEY_SIZE);
	return size + ISO_KEY_SIZE;
}

void iso_audit_key_print(const struct iso_audit_key *key, bool private_half,
			 char ret_pem[ISO_PEM_SIZE])
{
	uint8_t der[DER_MAX];
	char body[BASE64_ENCODE_RAW_LENGTH(DER_MAX) + 1];
	size_t size = print_der(key, private_half, der);
	const char *label = private_half ? "PRIVATE" : "PUBLIC";
	base64_encode_raw(body, size, der);
	body[BASE64_ENCODE_RAW_LENGTH(size)] = '\0';
	snprintf(ret_pem, ISO_PEM_SIZE, "-----BEGIN %s KEY-----\n%s\n-----END %s KEY-----\n", label,
		 body, label);
}

void iso_audit_key_id(const struct iso_audit_key *key, char ret_id[ISO_SHA256_HEX_SIZE])
{
	uint8_t der[DER_MAX];
	size_t size = print_der(key, false, der);
	iso_sha256_hex(der, size, ret_id);
}

void iso_audit_sign(const struct iso_audit_key *key, const void *data, size_t size,
		    uint8_t ret_signature[ISO_SIGNATURE_SIZE])
{
	ed25519_sha512_sign(key->public_key, key->private_key, size, data, ret_signature);
}

bool iso_audit_signature_is_good(const struct iso_audit_key *key, const void *data, size_t size,
				 const uint8_t signature[ISO_SIGNATURE_SIZE])
{
	return ed25519_sha512_verify(key->public_key, size, data, signature) == 1;
}
