/* reply.c: renders an error in the format of the API that the client used. */
#include "web/reply.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "web/error_page.h"

enum { DETAIL_MAX = ERR_FIELD_MAX + ERR_MSG_MAX + 2 };

/* Parses e->more; its retryAfter goes into *retry_after instead. */
static json_t *
parse_more(const struct err *e, int *retry_after)
{
	json_t *more = NULL;
	struct err ignored = { 0 };

	*retry_after = err_retry_after_seconds(e);
	if (e->more[0] == '\0' ||
	    json_parse(e->more, strlen(e->more), &more, &ignored) < 0 ||
	    !json_is_object(more)) {
		json_decref(more);
		return json_object();
	}
	if (json_is_integer(json_object_get(more, "retryAfter")))
		*retry_after = (int)json_integer_value(
		    json_object_get(more, "retryAfter"));
	json_object_del(more, "retryAfter");
	return more;
}

static void
say_when_to_retry(struct call *c, int seconds)
{
	char text[16];

	if (seconds == 0)
		return;
	snprintf(text, sizeof(text), "%d", seconds);
	call_header(c, "Retry-After", text);
}

/*
 * Sends `body`.  The members of e->more are added to `into`, which is the body
 * or a part of it; NULL: they are not sent.
 */
static void
send_error(struct call *c, const struct err *e, const char *type, json_t *body,
    json_t *into)
{
	auto_free char *text = NULL;
	auto_json json_t *more = NULL;
	int retry_after;

	more = parse_more(e, &retry_after);
	if (into != NULL)
		json_object_update_missing(into, more);
	text = json_text(body);
	say_when_to_retry(c, retry_after);
	if (err_status(e) == 401) /* RFC 9110, 15.5.2 */
		call_header(c, "WWW-Authenticate",
		    "Bearer realm=\"sandlease\"");
	call_reply_bytes(c, err_status(e), type, text, strlen(text));
}

/* Writes "field: message", or the message alone. */
static void
put_detail(const struct err *e, char out[DETAIL_MAX])
{
	snprintf(out, DETAIL_MAX, "%s%s%s", e->field,
	    e->field[0] != '\0' ? ": " : "", e->msg);
}

void
reply_problem(struct call *c, const struct err *e, const json_t *more)
{
	auto_json json_t *errors = json_array();
	auto_json json_t *body = NULL;
	char detail[DETAIL_MAX];

	put_detail(e, detail);
	if (e->field[0] != '\0')
		json_array_append_new(errors,
		    json_pack("{s:o, s:o}", "field", json_lossy(e->field),
			"message", json_lossy(e->msg)));
	body = json_pack("{s:s, s:s, s:i, s:o, s:s, s:b, s:s, s:O}", "type",
	    "about:blank", "title", err_title(e), "status", err_status(e),
	    "detail", json_lossy(detail), "code", code_word(e->code),
	    "retryable", err_retryable(e), "traceId", c->trace_id, "errors",
	    errors);
	if (more != NULL)
		json_object_update_missing(body, (json_t *)(uintptr_t)more);
	send_error(c, e, "application/problem+json", body, body);
}

/* The body of reply_container_error(); `context` is copied. */
static json_t *
container_body(const struct err *e, const json_t *context)
{
	json_t *ctx = context != NULL ? json_deep_copy(context) : json_object();
	json_t *hint = json_incref(json_object_get(ctx, "suggestion"));
	char at[CLOCK_ISO_MAX], detail[DETAIL_MAX];

	clock_iso(at);
	put_detail(e, detail);
	if (e->field[0] != '\0')
		json_object_set_new(ctx, "validationErrors",
		    json_pack("[{s:o, s:o, s:s}]", "field",
			json_lossy(e->field), "message", json_lossy(e->msg),
			"code", "invalid"));
	json_object_del(ctx, "suggestion");
	/* some clients read `error`, others `message` */
	return json_pack("{s:s, s:o, s:o, s:o, s:o*, s:i, s:s}", "code",
	    code_capitals(e->code), "message", json_lossy(detail), "error",
	    json_lossy(detail), "context", ctx, "suggestion", hint,
	    "httpStatus", err_status(e), "timestamp", at);
}

int
reply_container(struct call *c, json_t *more)
{
	return reply_container_as(c, 200, more);
}

int
reply_container_as(struct call *c, int status, json_t *more)
{
	auto_json json_t *body = json_pack("{s:b}", "success", 1);
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	json_object_update(body, more);
	json_object_set_new(body, "timestamp", json_string(at));
	json_decref(more);
	call_reply(c, status, body);
	return 0;
}

void
reply_container_error(struct call *c, const struct err *e,
    const json_t *context)
{
	auto_json json_t *body = container_body(e, context);

	send_error(c, e, "application/json", body,
	    json_object_get(body, "context"));
}

void
reply_proxy_error(struct call *c, const struct err *e, const char *error,
    const char *port)
{
	auto_json json_t *body = container_body(e, NULL);
	int64_t n;

	json_object_set_new(body, "error", json_string(error));
	json_object_set_new(body, "port",
	    str_to_int(port, 0, 65535, &n) ? json_integer(n)
					   : json_lossy(port));
	send_error(c, e, "application/json", body,
	    json_object_get(body, "context"));
}

void
reply_preview_error(struct call *c, const struct err *e)
{
	auto_json json_t *body = NULL;

	body = json_pack("{s:o, s:s}", "error", json_lossy(e->msg), "code",
	    code_capitals(e->code));
	send_error(c, e, "application/json", body, NULL);
}

void
reply_preview_page(struct call *c, const struct err *e, const char *title,
    const char *html)
{
	auto_buf struct buf text = { 0 }, page = { 0 };
	int retry_after;
	bool again;

	json_decref(parse_more(e, &retry_after));
	/* reloading the answer to a form would submit the form again */
	again = retry_after > 0 && str_equal(c->method, "GET");
	buf_str(&text, html);
	if (again)
		buf_str(&text, "<p>This page tries again by itself.</p>");
	error_page_write(&page, title, text.data, again ? retry_after : 0);
	say_when_to_retry(c, retry_after);
	call_header(c, "Content-Security-Policy", NOTICE_POLICY);
	call_header(c, "Cache-Control", "no-store");
	call_reply_bytes(c, err_status(e), NOTICE_TYPE, page.data, page.len);
}
