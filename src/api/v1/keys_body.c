/* keys_body.c: checks correlation keys of requests. */
#include "api/v1/keys_body.h"

#include <string.h>

/* Control characters: below space, DEL, and in UTF-8 C2 80 to C2 9F. */
static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)s[0];
		unsigned char next = (unsigned char)s[1];

		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && next >= 0x80 && next <= 0x9f))
			return true;
	}
	return false;
}

bool
key_is_good(const char *s)
{
	return s[0] != '\0' && strlen(s) <= KEY_LEN_MAX && json_is_text(s) &&
	    !has_control(s);
}

int
keys_check(const json_t *keys, const char *field, struct err *e)
{
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const json_t *v = json_array_get(keys, i);
		const char *s = json_string_value(v);

		/* a key with a NUL in it would be cut there */
		if (s == NULL || strlen(s) != json_string_length(v) ||
		    !key_is_good(s))
			return err_field(e, field,
			    "must hold printable strings of 1 to %d bytes; element %zu is not one",
			    KEY_LEN_MAX, i);
	}
	return 0;
}
