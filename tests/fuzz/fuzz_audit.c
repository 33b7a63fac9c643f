/* Lines of an audit log, checkpoints and keys. A line that is taken prints the same hash again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct iso_audit_key key = {.can_sign = false};
	struct iso_audit_head head, again;
	struct iso_audit_checkpoint checkpoint;
	struct iso_audit_key read;
	struct iso_error err = {0};
	iso_audit_head_init(&head);
	if (iso_audit_line_check((const char *)data, size, NULL, false, &head, &err) == 0) {
		if (iso_audit_line_check((const char *)data, size, NULL, false, &again, &err) < 0 ||
		    memcmp(&head, &again, sizeof(head)) != 0)
			__builtin_trap();
	} else if (err.message[0] == '\0') {
		__builtin_trap();
	}
	(void)iso_audit_line_check((const char *)data, size, &key, true, &head, &err);
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	(void)iso_audit_checkpoint_parse(text, &key, &checkpoint, &err);
	(void)iso_audit_key_parse("it", text, &read, &err);
	free(text);
	return 0;
}
