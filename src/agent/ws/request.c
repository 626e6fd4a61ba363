/* request.c: parses one message of a client on /ws. */
#include "agent/ws/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/utf8.h"

/* Nested arrays and objects: 32 in a body, and the message around it. */
enum { DEPTH_MAX = 33 };

static int
invalid(struct err *e, const char *why)
{
	return err_set(e, ERR_INVALID, CODE_INVALID_REQUEST, "%s", why);
}

static int
hex(char ch)
{
	static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = ch != '\0' ? strchr(DIGITS, ch) : NULL;

	return at != NULL ? (int)(at - DIGITS) % 16 : -1;
}

/* Percent-decodes a path as nginx does; NULL when it is malformed. */
static char *
decode_path(const char *raw, size_t len)
{
	auto_free char *path = xmalloc(len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int ch = (unsigned char)raw[i];

		if (ch == '%') {
			int hi = i + 2 < len ? hex(raw[i + 1]) : -1;
			int lo = i + 2 < len ? hex(raw[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return NULL;
			ch = hi * 16 + lo;
			i += 2;
		}
		if (ch < ' ')
			return NULL;
		path[n++] = (char)ch;
	}
	path[n] = '\0';
	return utf8_valid(path, n) ? TAKE(path) : NULL;
}

static const char *
text_of(const json_t *msg, const char *name, size_t max)
{
	const json_t *v = json_object_get(msg, name);
	const char *s = json_string_value(v);

	return s != NULL && s[0] != '\0' && json_string_length(v) < max ? s
									: NULL;
}

static int
read_request(struct ws_request *r, struct err *e)
{
	size_t len;

	r->method = text_of(r->msg, "method", WS_METHOD_MAX);
	if (r->method == NULL ||
	    !str_made_of(r->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1,
		WS_METHOD_MAX))
		return invalid(e, "method must be an HTTP method");
	r->raw = text_of(r->msg, "path", WS_PATH_MAX);
	if (r->raw == NULL || r->raw[0] != '/')
		return invalid(e, "path must be a string that begins with /");
	len = strcspn(r->raw, "?");
	r->query = r->raw[len] == '?' ? r->raw + len + 1 : "";
	r->path = decode_path(r->raw, len);
	if (r->path == NULL)
		return invalid(e, "path is malformed");
	r->body = json_object_get(r->msg, "body");
	if (json_is_null(r->body))
		r->body = NULL;
	r->headers = json_object_get(r->msg, "headers");
	if (json_is_null(r->headers))
		r->headers = NULL;
	if (r->headers != NULL && !json_is_object(r->headers))
		return invalid(e, "headers must be an object");
	return 0;
}

static int
parse_message(const char *text, size_t len, struct ws_request *out,
    struct err *e)
{
	struct bigjson_value *body = &out->body_text;

	if (len <= WS_PARSED_MAX || !bigjson_find(text, len, "body", body))
		return json_parse(text, len, &out->msg, e);
	return bigjson_parse_rest(text, len, body, &out->msg, e);
}

int
ws_request_parse(const char *text, size_t len, struct ws_request *out,
    struct err *e)
{
	struct err why = { 0 };
	const char *type;

	*out = (struct ws_request){ 0 };
	if (!bigjson_depth_ok(text, len, DEPTH_MAX) ||
	    parse_message(text, len, out, &why) < 0)
		return err_set(e, ERR_INVALID, CODE_PARSE_ERROR,
		    "the message is not valid JSON%s%.150s",
		    why.msg[0] != '\0' ? ": " : "", why.msg);
	out->id = text_of(out->msg, "id", WS_ID_MAX);
	type = json_str(out->msg, "type");
	if (!json_is_object(out->msg))
		return invalid(e, "a message must be a JSON object");
	if (out->id == NULL)
		return invalid(e, "id must be a string");
	out->cancel = str_equal(type, "cancel");
	if (out->cancel)
		return 0;
	if (!str_equal(type, "request"))
		return invalid(e, "type must be request or cancel");
	return read_request(out, e);
}

void
ws_request_free(struct ws_request *r)
{
	json_release(&r->msg);
	free(r->path);
	r->path = NULL;
}

const char *
ws_request_header(const struct ws_request *r, const char *name)
{
	void *at = r->headers != NULL
	    ? json_object_iter((json_t *)(uintptr_t)r->headers)
	    : NULL;

	for (; at != NULL;
	     at = json_object_iter_next((json_t *)(uintptr_t)r->headers, at)) {
		const char *v = json_string_value(json_object_iter_value(at));

		if (v != NULL &&
		    strcasecmp(json_object_iter_key(at), name) == 0)
			return v;
	}
	return "";
}
