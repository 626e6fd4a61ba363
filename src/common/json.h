/*
 * json.h: decodes JSON bodies into structs, by a table.
 *
 * Rows of struct jfield describe a body.  Decoding refuses unknown keys, wrong
 * types, embedded NULs and values out of range, and names the field.  Wire
 * names are camelCase, C names snake_case; a row holds both.  The struct's
 * initialiser has the defaults.  The same rows describe the body in GET
 * /v1/openapi.json.
 */
#ifndef SANDLEASE_COMMON_JSON_H
#define SANDLEASE_COMMON_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define auto_json __attribute__((cleanup(json_release)))

enum jtype {
	J_STR,  /* char[size], min..max bytes */
	J_INT,  /* int64_t, min..max */
	J_BOOL, /* int: 0 or 1; initialise with -1 for "absent" */
	J_ENUM, /* int: index into names; initialise with -1 for "absent" */
	J_OBJ,  /* const json_t *, borrowed from the body; min..max members */
	J_ARR,  /* const json_t *, borrowed from the body; min..max elements.
		   The caller checks the elements: J_OF_STRINGS only tells the
		   OpenAPI document what they are */
	J__MAX
};

enum jflag {
	J_REQUIRED = 1,
	J_LENIENT = 2,
	J_OF_STRINGS = 4,
	J_NULLABLE = 8 /* may be null; of a string, as if it were absent */
};

struct jfield {
	const char *name;
	enum jtype type;
	unsigned flags;
	size_t offset;
	size_t size;
	int64_t min, max;
	const char *const *names; /* J_ENUM: NULL at the end */
	/* J_OBJ: its members, for the OpenAPI document; the caller checks them */
	const struct jfield *members;
	const size_t *member_count;
	const char *help;
};

#define JFIELD(wire, type_, member, jtype_, flags_, min_, max_, help_)         \
	{                                                                      \
		.name = (wire), .type = (jtype_), .flags = (flags_),           \
		.offset = offsetof(type_, member),                             \
		.size = sizeof(((type_ *)0)->member), .min = (min_),           \
		.max = (max_), .help = (help_)                                 \
	}
#define JFIELD_ENUM(wire, type_, member, flags_, names_, help_)                \
	{                                                                      \
		.name = (wire), .type = J_ENUM, .flags = (flags_),             \
		.offset = offsetof(type_, member), .size = sizeof(int),        \
		.names = (names_), .help = (help_)                             \
	}
#define JFIELD_OBJ(wire, type_, member, flags_, max_, rows_, count_, help_)    \
	{                                                                      \
		.name = (wire), .type = J_OBJ, .flags = (flags_),              \
		.offset = offsetof(type_, member),                             \
		.size = sizeof(((type_ *)0)->member), .max = (max_),           \
		.members = (rows_), .member_count = &(count_), .help = (help_) \
	}

/* Parses untrusted text; refuses deep nesting and duplicate keys. */
int json_parse(const char *text, size_t len, json_t **out, struct err *e)
    MUST_CHECK;

/*
 * Fills *out from the object `body`, as the rows say.  With J_LENIENT in
 * `flags` unknown keys are allowed (answers of other programs).  Borrowed
 * members live as long as `body`.
 */
int jfield_decode(const json_t *body, const struct jfield *rows, size_t count,
    unsigned flags, void *out, struct err *e) MUST_CHECK;

/*
 * Compact text of a value; the caller frees it.  Numbers with a fraction have up
 * to 15 digits; up to 17 if one of them would not read back as it is.
 */
char *json_text(const json_t *v);

/*
 * A JSON string of text that may be invalid UTF-8 (cut, or from outside).  If
 * it is, its bytes above 0x7f become '?'.  Never NULL.
 */
json_t *json_lossy(const char *s);

/*
 * A JSON string of any bytes.  Each one that is not part of valid UTF-8 becomes
 * U+FFFD; a NUL stays, which the database does not take.
 */
json_t *json_bytes(const char *data, size_t len);

/* The string member `key`, or "" when it is absent or not a string. */
const char *json_str(const json_t *o, const char *key);

/* True when s is valid UTF-8, which JSON and the database require. */
bool json_is_text(const char *s);

void json_release(json_t **v);

#endif
