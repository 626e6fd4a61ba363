/* request.c: reads bodies of calls, and keeps their request context. */
#include "agent/api/request.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "agent/run/session_end.h"
#include "common/base64.h"
#include "common/mem.h"
#include "common/utf8.h"

enum {
	DEPTH_MAX = 32,
	PIECE = 16384,
	IGNORED_MAX = 32, /* names in an answer */
	IGNORED_NAME_MAX = 64
};

void
request_context(struct call *c, json_t *context)
{
	struct api_request *s = c->context;

	json_decref(s->context);
	s->context = context;
}

static void
drop_nulls(json_t *o)
{
	const char *key;
	json_t *v;
	void *next;

	json_object_foreach_safe(o, next, key, v)
	{
		if (json_is_null(v))
			json_object_del(o, key);
	}
}

/* Refuses a time limit with a name that the route does not know. */
static int
refuse_limit(const char *fields, const char *name, struct err *e)
{
	static const char *const LIMITS[] = { "timeoutMs", "timeout_ms",
		"commandTimeoutMs" };

	if (strncasecmp(name, "timeout", sizeof("timeout") - 1) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++)
		if (str_list_has(fields, LIMITS[i]))
			return err_field(e, name,
			    "is not known here; use %s, in milliseconds",
			    LIMITS[i]);
	return 0;
}

/* The header has only names of harmless characters; the body has all. */
static void
add_ignored_header(struct call *c, const json_t *names)
{
	static const char CHARS[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	auto_buf struct buf list = { 0 };
	const json_t *v;
	size_t i;

	json_array_foreach(names, i, v)
	{
		const char *name = json_string_value(v);

		if (str_made_of(name, CHARS, 1, IGNORED_NAME_MAX))
			buf_fmt(&list, "%s%s", list.len > 0 ? ", " : "", name);
	}
	if (list.len > 0)
		call_header(c, "X-Ignored-Fields", list.data);
}

static void
add_ignored_name(json_t *names, const char *name)
{
	if (json_array_size(names) < IGNORED_MAX)
		json_array_append_new(names, json_string(name));
}

/* Adds unknown members of an object whose members are in `fields`, too. */
static void
note_nested(const char *fields, const char *name, json_t *v, json_t *names)
{
	auto_free char *front = xasprintf("%s.", name);
	const char *key;
	json_t *ignored;

	if (strstr(fields, front) == NULL)
		return;
	json_object_foreach(v, key, ignored)
	{
		auto_free char *whole = xasprintf("%s%s", front, key);

		if (!str_list_has(fields, whole))
			add_ignored_name(names, whole);
	}
}

static int
note_unknown(struct call *c, json_t *body, struct err *e)
{
	struct api_request *s = c->context;
	json_t *names, *v;
	const char *name;

	if (s->fields == NULL)
		return 0;
	names = json_array();
	s->ignored = json_pack("{s:o}", "ignored", names);
	json_object_foreach(body, name, v)
	{
		if (str_list_has(s->fields, name))
			note_nested(s->fields, name, v, names);
		else if (refuse_limit(s->fields, name, e) < 0)
			return -1;
		else
			add_ignored_name(names, name);
	}
	if (json_array_size(names) == 0)
		return 0;
	c->also = s->ignored;
	add_ignored_header(c, names);
	return 0;
}

void
request_add_ignored(struct call *c, struct buf *to)
{
	auto_free char *text = NULL;

	if (c->also == NULL)
		return;
	text = json_text(json_object_get(c->also, "ignored"));
	buf_fmt(to, ",\"ignored\":%s", text);
	c->also = NULL;
}

static int
read_body(struct call *c, size_t max, struct buf *text, struct err *e)
{
	struct api_request *s = c->context;

	if (call_body(c, max, text, e) < 0) {
		if (e->kind == ERR_INVALID)
			e->code = CODE_VALIDATION_FAILED;
		/* the size as the client declares it, else by counting */
		if (e->kind == ERR_TOO_LARGE &&
		    !str_to_int(call_param(c, "CONTENT_LENGTH"), 0, INT64_MAX,
			&s->body_bytes))
			s->body_bytes = (int64_t)(text->len +
			    call_skip_body(c, REQUEST_SKIP_MAX));
		return -1;
	}
	if (!bigjson_depth_ok(text->data, text->len, DEPTH_MAX))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the body is nested more than %d deep", DEPTH_MAX);
	return 0;
}

static int
parse_body(struct call *c, const struct buf *text, json_t **out, struct err *e)
{
	if (text->len == 0)
		*out = json_object();
	else if (json_parse(text->data, text->len, out, e) < 0)
		return -1;
	if (!json_is_object(*out))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the body must be a JSON object");
	drop_nulls(*out);
	return note_unknown(c, *out, e);
}

int
request_body(struct call *c, size_t max, json_t **out, struct err *e)
{
	auto_buf struct buf text = { 0 };

	return read_body(c, max, &text, e) < 0 ? -1
					       : parse_body(c, &text, out, e);
}

int
request_large_body(struct call *c, size_t max, const char *name,
    struct buf *text, struct bigjson_value *value, json_t **out, struct err *e)
{
	ssize_t len;

	*value = (struct bigjson_value){ 0 };
	if (read_body(c, max, text, e) < 0)
		return -1;
	if (!bigjson_find(text->data, text->len, name, value) ||
	    text->data[value->at] != '"') {
		*value = (struct bigjson_value){ 0 };
		return parse_body(c, text, out, e);
	}
	if (bigjson_parse_rest(text->data, text->len, value, out, e) < 0)
		return -1;
	drop_nulls(*out);
	len = bigjson_unescape(text->data + value->at, value->len);
	if (len < 0)
		return err_field(e, name, "is not a valid JSON string");
	value->len = (size_t)len;
	return note_unknown(c, *out, e);
}

int
request_text(const json_t *body, const char *name, size_t min, size_t max,
    const char **out, struct err *e)
{
	const json_t *v = json_object_get(body, name);
	size_t len = json_string_length(v);

	if (v == NULL)
		return err_field(e, name, "is required");
	if (!json_is_string(v))
		return err_field(e, name, "must be a string");
	if (len < min || len > max)
		return err_field(e, name, "must have %zu to %zu bytes", min,
		    max);
	*out = json_string_value(v);
	if (strlen(*out) != len)
		return err_field(e, name, "must not contain a NUL");
	return 0;
}

static bool
is_blank(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return *s == '\0';
}

int
request_shell(struct call *c, const json_t *body, char out[SHELL_NAME_MAX],
    struct err *e)
{
	static const char *const QUERY[] = { "session", "sessionId" };
	const char *given = call_param(c, "HTTP_X_SESSION_ID");
	bool present = false;

	if (json_object_get(body, "sessionId") != NULL) {
		if (request_text(body, "sessionId", 1, SHELL_NAME_MAX - 1,
			&given, e) < 0)
			return -1;
		if (is_blank(given))
			return err_field(e, "sessionId", "must not be blank");
	}
	if (!is_blank(given)) {
		if (!json_is_text(given))
			return err_field(e, "sessionId", "is not UTF-8");
		if (!str_copy(out, SHELL_NAME_MAX, given))
			return err_field(e, "sessionId", "is too long");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(QUERY); i++) {
		if (call_query(c, QUERY[i], out, SHELL_NAME_MAX, &present, e) <
		    0)
			return -1;
		if (present && !is_blank(out))
			return 0;
	}
	str_copy(out, SHELL_NAME_MAX, "default");
	return 0;
}

int
request_decode_data(const json_t *body, struct buf *out, struct err *e)
{
	const json_t *data = json_object_get(body, "data");
	const char *encoding = json_object_get(body, "encoding") == NULL
	    ? "utf-8"
	    : json_str(body, "encoding");

	if (!json_is_string(data))
		return err_field(e, "data", "must be a string");
	if (str_equal(encoding, "base64"))
		return base64_decode(out, json_string_value(data),
			   json_string_length(data))
		    ? 0
		    : err_field(e, "data", "is not base64");
	if (!str_equal(encoding, "utf-8") && !str_equal(encoding, "utf8"))
		return err_field(e, "encoding", "must be utf-8 or base64");
	buf_add(out, json_string_value(data), json_string_length(data));
	return 0;
}

void
request_write_text(struct call *c, const char *data, size_t len)
{
	auto_buf struct buf piece = { 0 };

	while (len > 0 && (!c->gone || c->copy != NULL)) {
		size_t n = len;

		if (n > PIECE) {
			n = utf8_whole(data, PIECE);
			n = n > 0 ? n : PIECE;
		}
		piece.len = 0;
		utf8_json(&piece, data, n);
		call_write(c, piece.data, piece.len);
		data += n;
		len -= n;
	}
}

bool
request_session_end(struct call *c, json_t *more)
{
	auto_json json_t *members = more;
	auto_buf struct buf event = { 0 };

	if (!session_end_event(&event, members))
		return false;
	call_write(c, event.data, event.len);
	call_flush(c);
	return true;
}
