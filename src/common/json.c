/* json.c: decodes JSON bodies into structs, by a table. */
#include "common/json.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

/* With 15 digits any decimal survives a double; with 17 any double does. */
enum { DIGITS_MIN = DBL_DIG, DIGITS_MAX = DBL_DECIMAL_DIG, NUMBER_MAX = 32 };

typedef int decode_fn(const json_t *v, const struct jfield *f, void *to,
    struct err *e);

static int
decode_str(const json_t *v, const struct jfield *f, void *to, struct err *e)
{
	size_t len;

	if (!json_is_string(v))
		return err_field(e, f->name, "must be a string");
	len = json_string_length(v);
	if (strlen(json_string_value(v)) != len)
		return err_field(e, f->name, "must not contain a NUL");
	if ((int64_t)len < f->min || (int64_t)len > f->max || len >= f->size)
		return err_field(e, f->name,
		    "must have %" PRId64 " to %" PRId64 " bytes", f->min,
		    f->max);
	memcpy(to, json_string_value(v), len + 1);
	return 0;
}

static int
decode_int(const json_t *v, const struct jfield *f, void *to, struct err *e)
{
	int64_t n;

	if (!json_is_integer(v))
		return err_field(e, f->name, "must be an integer");
	n = json_integer_value(v);
	if (n < f->min || n > f->max)
		return err_field(e, f->name,
		    "must be between %" PRId64 " and %" PRId64, f->min, f->max);
	memcpy(to, &n, sizeof(n));
	return 0;
}

static int
decode_bool(const json_t *v, const struct jfield *f, void *to, struct err *e)
{
	int b = json_is_true(v);

	if (!json_is_boolean(v))
		return err_field(e, f->name, "must be true or false");
	memcpy(to, &b, sizeof(b));
	return 0;
}

static int
decode_enum(const json_t *v, const struct jfield *f, void *to, struct err *e)
{
	auto_buf struct buf all = { 0 };

	if (!json_is_string(v))
		return err_field(e, f->name, "must be a string");
	for (int i = 0; f->names[i] != NULL; i++) {
		if (str_equal(f->names[i], json_string_value(v)) &&
		    strlen(f->names[i]) == json_string_length(v)) {
			memcpy(to, &i, sizeof(i));
			return 0;
		}
		buf_fmt(&all, "%s%s", i > 0 ? ", " : "", f->names[i]);
	}
	return err_field(e, f->name, "must be one of %s", all.data);
}

static int
decode_container(const json_t *v, const struct jfield *f, void *to,
    struct err *e)
{
	bool object = f->type == J_OBJ;
	int64_t n;

	if (json_is_null(v) && (f->flags & J_NULLABLE) != 0) {
		memcpy(to, &v, sizeof(v));
		return 0;
	}
	if (object ? !json_is_object(v) : !json_is_array(v))
		return err_field(e, f->name, "must be an %s",
		    object ? "object" : "array");
	n = (int64_t)(object ? json_object_size(v) : json_array_size(v));
	if (n < f->min || n > f->max)
		return err_field(e, f->name,
		    "must have %" PRId64 " to %" PRId64 " %s", f->min, f->max,
		    object ? "members" : "elements");
	memcpy(to, &v, sizeof(v));
	return 0;
}

static decode_fn *const DECODE[J__MAX] = {
	[J_STR] = decode_str,
	[J_INT] = decode_int,
	[J_BOOL] = decode_bool,
	[J_ENUM] = decode_enum,
	[J_OBJ] = decode_container,
	[J_ARR] = decode_container,
};

int
json_parse(const char *text, size_t len, json_t **out, struct err *e)
{
	json_error_t je;

	*out =
	    json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	if (*out == NULL)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the body is not valid JSON: line %d, column %d: %s",
		    je.line, je.column, je.text);
	return 0;
}

static const struct jfield *
find_row(const struct jfield *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(rows[i].name, name))
			return &rows[i];
	return NULL;
}

int
jfield_decode(const json_t *body, const struct jfield *rows, size_t count,
    unsigned flags, void *out, struct err *e)
{
	const char *key;
	json_t *v;

	if (!json_is_object(body))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the body must be a JSON object");
	json_object_foreach((json_t *)(uintptr_t)body, key, v)
	{
		if (find_row(rows, count, key) == NULL &&
		    (flags & J_LENIENT) == 0)
			return err_field(e, key, "is not a known field");
	}
	for (size_t i = 0; i < count; i++) {
		const struct jfield *f = &rows[i];

		v = json_object_get(body, f->name);
		if (f->type == J_STR && (f->flags & J_NULLABLE) != 0 &&
		    json_is_null(v))
			continue;
		if (v == NULL) {
			if ((f->flags & J_REQUIRED) != 0)
				return err_field(e, f->name, "is required");
			continue;
		}
		if (DECODE[f->type](v, f, (char *)out + f->offset, e) < 0)
			return -1;
	}
	return 0;
}

/* Raises *most to the digits with which a number reads back as it is. */
static void
raise_digits(double n, int *most)
{
	char text[NUMBER_MAX];

	for (; *most < DIGITS_MAX; ++*most) {
		snprintf(text, sizeof(text), "%.*g", *most, n);
		if (strtod(text, NULL) == n)
			return;
	}
}

static void
raise_digits_of_all(const json_t *v, int *most)
{
	const char *key;
	json_t *member;

	if (json_is_real(v))
		raise_digits(json_real_value(v), most);
	for (size_t i = 0; i < json_array_size(v); i++)
		raise_digits_of_all(json_array_get(v, i), most);
	json_object_foreach((json_t *)(uintptr_t)v, key, member)
	{
		raise_digits_of_all(member, most);
	}
}

char *
json_text(const json_t *v)
{
	int digits = DIGITS_MIN;
	char *s;

	/* with jansson's 17 digits, 0.1 would be 0.10000000000000001 */
	raise_digits_of_all(v, &digits);
	s = json_dumps(v,
	    JSON_COMPACT | JSON_ENCODE_ANY |
		JSON_REAL_PRECISION((size_t)digits));
	return s != NULL ? s : xstrdup("null");
}

json_t *
json_lossy(const char *s)
{
	auto_free char *plain = NULL;
	json_t *v = json_string(s);

	if (v != NULL)
		return v;
	plain = xstrdup(s);
	for (char *c = plain; *c != '\0'; c++)
		if ((unsigned char)*c > 0x7f)
			*c = '?';
	return json_string(plain);
}

const char *
json_str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

bool
json_is_text(const char *s)
{
	auto_json json_t *v = json_string(s);

	return v != NULL;
}

void
json_release(json_t **v)
{
	json_decref(*v);
	*v = NULL;
}

json_t *
json_bytes(const char *data, size_t len)
{
	auto_buf struct buf text = { 0 };

	buf_str(&text, "\"");
	utf8_json(&text, data, len);
	buf_str(&text, "\"");
	return json_loadb(text.data, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL,
	    NULL);
}
