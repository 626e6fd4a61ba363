/* call.c: reads one HTTP request and writes its answer. */
#include "web/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

const char *
call_param(const struct call *c, const char *name)
{
	const char *v = c->io->param(c->io_ctx, name);

	return v != NULL ? v : "";
}

bool
call_repeated(const struct call *c, const char *name)
{
	return c->io->repeated != NULL && c->io->repeated(c->io_ctx, name);
}

int
call_fd(const struct call *c)
{
	return c->io->fd != NULL ? c->io->fd(c->io_ctx) : -1;
}

const char *
call_var(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->var_count; i++)
		if (str_equal(c->vars[i].name, name))
			return c->vars[i].value;
	return "";
}

static int
hex_digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return -1;
}

/* Decodes a query value.  False: malformed, NUL, not UTF-8 or too long. */
static bool
decode_query(const char *s, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int ch = (unsigned char)s[i];

		if (ch == '+') {
			ch = ' ';
		} else if (ch == '%') {
			int hi, lo;

			if (i + 2 >= len)
				return false;
			hi = hex_digit(s[i + 1]);
			lo = hex_digit(s[i + 2]);
			if (hi < 0 || lo < 0)
				return false;
			ch = hi * 16 + lo;
			i += 2;
		}
		if (ch == 0 || n + 1 >= size)
			return false;
		out[n++] = (char)ch;
	}
	out[n] = '\0';
	return json_is_text(out);
}

int
call_query(const struct call *c, const char *name, char *out, size_t size,
    bool *present, struct err *e)
{
	const char *s = call_param(c, "QUERY_STRING");
	size_t want = strlen(name);

	*present = false;
	out[0] = '\0';
	while (*s != '\0') {
		size_t len = strcspn(s, "&");

		if (len > want && s[want] == '=' &&
		    strncmp(s, name, want) == 0) {
			if (!decode_query(s + want + 1, len - want - 1, out,
				size))
				return err_field(e, name,
				    "is malformed or too long");
			*present = true;
			return 0;
		}
		s += len;
		if (*s == '&')
			s++;
	}
	return 0;
}

int
call_query_int(const struct call *c, const char *name, int64_t min, int64_t max,
    int64_t *out, struct err *e)
{
	char text[24];
	bool given;

	if (call_query(c, name, text, sizeof(text), &given, e) < 0)
		return -1;
	if (given && !str_to_int(text, min, max, out))
		return err_field(e, name,
		    "must be a number from %" PRId64 " to %" PRId64, min, max);
	return 0;
}

int
call_query_word(const struct call *c, const char *name,
    const char *const words[], char *out, size_t size, struct err *e)
{
	auto_buf struct buf all = { 0 };
	bool present, read = call_query(c, name, out, size, &present, e) == 0;

	if (read && out[0] == '\0')
		return 0;
	for (; *words != NULL; words++) {
		if (read && str_equal(*words, out))
			return 0;
		if (**words != '\0') /* an unknown state */
			buf_fmt(&all, "%s%s", all.len > 0 ? ", " : "", *words);
	}
	return err_field(e, name, "must be one of %s", all.data);
}

enum { CHUNK = 16384 };

size_t
call_skip_body(struct call *c, size_t max)
{
	auto_free char *buf = xmalloc(CHUNK);
	size_t skipped = 0;
	ssize_t n = 0;

	while (skipped < max && (n = c->io->read(c->io_ctx, buf, CHUNK)) > 0)
		skipped += (size_t)n;
	return skipped;
}

/* Reads Content-Length into *out; -1: the client sent none. */
static int
declared_length(const struct call *c, int64_t *out, struct err *e)
{
	const char *length = call_param(c, "CONTENT_LENGTH");

	*out = -1;
	if (!str_empty(length) && !str_to_int(length, 0, INT64_MAX, out))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the body's length is not a number");
	return 0;
}

/* The error after a read() that failed or ended too soon. */
static int
set_incomplete(ssize_t n, struct err *e)
{
	if (n < 0 && errno == ECANCELED)
		return err_set(e, ERR_UNAVAILABLE, CODE_INTERRUPTED,
		    "a key was revoked while the body was sent; send it again");
	return err_set(e, ERR_INVALID, CODE_BODY_INCOMPLETE,
	    "the body ended before it was complete");
}

static ssize_t
read_with(struct call *c, ssize_t (*how)(void *ctx, char *to, size_t max),
    char *to, size_t max, struct err *e)
{
	int64_t declared;
	ssize_t n;

	if (declared_length(c, &declared, e) < 0)
		return -1;
	n = how(c->io_ctx, to, max);
	c->body_read += n > 0 ? n : 0;
	if (n < 0 || (n == 0 && declared >= 0 && c->body_read != declared))
		return set_incomplete(n, e);
	return n;
}

ssize_t
call_read(struct call *c, char *to, size_t max, struct err *e)
{
	return read_with(c, c->io->read, to, max, e);
}

ssize_t
call_read_some(struct call *c, char *to, size_t max, struct err *e)
{
	return read_with(c,
	    c->io->read_some != NULL ? c->io->read_some : c->io->read, to, max,
	    e);
}

int
call_body(struct call *c, size_t max, struct buf *out, struct err *e)
{
	int64_t declared;
	ssize_t n;

	if (declared_length(c, &declared, e) < 0)
		return -1;
	/* refuse a large body before a byte of it is read */
	if (declared > (int64_t)max)
		return err_set(e, ERR_TOO_LARGE, CODE_BODY_TOO_LARGE,
		    "the body may have at most %zu bytes", max);
	while ((n = c->io->read(c->io_ctx, buf_room(out, CHUNK), CHUNK)) > 0) {
		out->len += (size_t)n;
		if (out->len > max)
			return err_set(e, ERR_TOO_LARGE, CODE_BODY_TOO_LARGE,
			    "the body may have at most %zu bytes", max);
	}
	if (n < 0 || (declared >= 0 && (int64_t)out->len != declared))
		return set_incomplete(n, e);
	out->data[out->len] = '\0';
	return 0;
}

int
call_json(struct call *c, size_t max, json_t **out, struct err *e)
{
	auto_buf struct buf body = { 0 };

	if (call_body(c, max, &body, e) < 0)
		return -1;
	if (body.len == 0) {
		*out = json_object();
		return 0;
	}
	return json_parse(body.data, body.len, out, e);
}

void
call_header(struct call *c, const char *name, const char *value)
{
	buf_str(&c->headers, name);
	buf_str(&c->headers, ": ");
	while (*value != '\0') {
		size_t len = 0;

		while ((unsigned char)value[len] >= 0x20 && value[len] != 0x7f)
			len++;
		buf_add(&c->headers, value, len);
		value += len + (value[len] != '\0'); /* leaves that one out */
	}
	buf_str(&c->headers, "\r\n");
}

static int
write_bytes(struct call *c, const char *data, size_t len)
{
	if (!c->gone && c->io->write(c->io_ctx, data, len) < 0)
		c->gone = true;
	return c->gone ? -1 : 0;
}

static void
add_to_copy(struct call_copy *to, const char *data, size_t len)
{
	if (len > to->max - to->text.len)
		to->over = true;
	if (to->over)
		buf_free(&to->text);
	else
		buf_add(&to->text, data, len);
}

int
call_write(struct call *c, const char *data, size_t len)
{
	if (c->copy != NULL)
		add_to_copy(c->copy, data, len);
	return write_bytes(c, data, len);
}

int
call_flush(struct call *c)
{
	if (!c->gone && c->io->flush(c->io_ctx) < 0)
		c->gone = true;
	return c->gone ? -1 : 0;
}

void
call_end(struct call *c)
{
	call_flush(c);
	if (c->io->end != NULL)
		c->io->end(c->io_ctx);
}

int
call_send_file(struct call *c, int fd, off_t from, int64_t len)
{
	if (!c->gone && c->io->send_file(c->io_ctx, fd, from, len) < 0)
		call_cut(c);
	return c->gone ? -1 : 0;
}

void
call_cut(struct call *c)
{
	if (!c->gone)
		c->io->cut(c->io_ctx);
	c->gone = true;
}

/* nginx copies our reason phrase into its status line. */
static const char *
reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} REASONS[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 416, "Range Not Satisfiable" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_LEN(REASONS); i++)
		if (REASONS[i].status == status)
			return REASONS[i].reason;
	return status < 400 ? "OK" : "Error";
}

void
call_begin(struct call *c, int status, const char *type)
{
	auto_buf struct buf head = { 0 };
	const char digits[] = { (char)('0' + status / 100),
		(char)('0' + status / 10 % 10), (char)('0' + status % 10),
		' ' };

	c->status = status;
	buf_str(&head, "Status: ");
	buf_add(&head, digits, sizeof(digits));
	buf_str(&head, reason_of(status));
	if (type != NULL) {
		buf_str(&head, "\r\nContent-Type: ");
		buf_str(&head, type);
	}
	buf_str(&head, "\r\nX-Request-Id: ");
	buf_str(&head, c->request_id);
	buf_str(&head, "\r\n");
	if (c->headers.len > 0)
		buf_add(&head, c->headers.data, c->headers.len);
	buf_str(&head, "\r\n");
	write_bytes(c, head.data, head.len);
}

void
call_reply_bytes(struct call *c, int status, const char *type, const char *data,
    size_t len)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", len);
	call_header(c, "Content-Length", text);
	call_begin(c, status, type);
	if (!str_equal(c->method, "HEAD"))
		call_write(c, data, len);
}

json_t *
call_with_also(struct call *c, const json_t *body)
{
	json_t *whole;

	if (c->also == NULL || !json_is_object(body))
		return json_incref((json_t *)(uintptr_t)body);
	whole = json_copy((json_t *)(uintptr_t)body);
	json_object_update_missing(whole, (json_t *)(uintptr_t)c->also);
	c->also = NULL;
	return whole;
}

void
call_reply(struct call *c, int status, const json_t *body)
{
	auto_json json_t *whole = call_with_also(c, body);
	auto_free char *text = json_text(whole);

	call_reply_bytes(c, status, "application/json", text, strlen(text));
}

void
call_reply_empty(struct call *c, int status)
{
	call_begin(c, status, NULL);
}

void
call_release(struct call *c)
{
	buf_free(&c->headers);
}
