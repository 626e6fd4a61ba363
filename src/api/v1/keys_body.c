/* keys_body.c: checks correlation keys of requests. */
#include "api/v1/keys_body.h"

int
keys_check(const json_t *keys, const char *field, struct err *e)
{
	for (size_t i = 0; i < json_array_size(keys); i++) {
		if (!correlation_is_key_json(json_array_get(keys, i)))
			return err_field(e, field,
			    "must hold printable strings of 1 to %d bytes; element %zu is not one",
			    CORRELATION_KEY_MAX, i);
	}
	return 0;
}
