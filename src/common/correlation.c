/* correlation.c: says which texts can be correlation keys. */
#include "common/correlation.h"

#include <string.h>

#include "common/str.h"

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
correlation_is_key(const char *s)
{
	return s[0] != '\0' && strlen(s) <= CORRELATION_KEY_MAX &&
	    json_is_text(s) && !has_control(s);
}

bool
correlation_is_key_json(const json_t *v)
{
	const char *s = json_string_value(v);

	/* a key with a NUL in it would be cut there */
	return s != NULL && strlen(s) == json_string_length(v) &&
	    correlation_is_key(s);
}

bool
correlation_list_has(const json_t *list, const char *key)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (str_equal(json_string_value(json_array_get(list, i)), key))
			return true;
	return false;
}

json_t *
correlation_list(const json_t *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < json_array_size(list) &&
	     json_array_size(out) < CORRELATION_GIVEN_MAX;
	     i++) {
		json_t *v = json_array_get(list, i);

		if (correlation_is_key_json(v) &&
		    !correlation_list_has(out, json_string_value(v)))
			json_array_append(out, v);
	}
	if (json_array_size(out) == 0)
		json_release(&out);
	return out;
}
