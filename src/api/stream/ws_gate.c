/* ws_gate.c: takes requests for ports out of a WebSocket of /ws. */
#include "api/stream/ws_gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "web/records.h"

enum {
	HEAD_MAX = 64 * 1024,
	LOOK_MAX = 16 * 1024, /* bytes held; requests for ports are smaller */
	ID_BYTES = 256,       /* the wrapper has the same limit */
	PATH_MAX_BYTES = 1024,
	VALUE_MAX = 8 * 1024 /* nginx's limit for a header line */
};

static const char END[] = "\r\n\r\n";
static const char OURS[] = "X-Sandlease-";

/* ---- the heads */

int
ws_gate_take_head(struct ws_gate *g, const char **data, size_t *len)
{
	while (*len > 0) {
		buf_add(&g->head, *data, 1);
		(*data)++;
		(*len)--;
		if (g->head.len >= sizeof(END) - 1 &&
		    str_equal(g->head.data + g->head.len - (sizeof(END) - 1),
			END))
			return 1;
		if (g->head.len >= HEAD_MAX)
			return -1;
	}
	return 0;
}

void
ws_gate_header(const struct ws_gate *g, const char *name, char *out,
    size_t size)
{
	const char *line = g->head.data;

	out[0] = '\0';
	while ((line = strstr(line, "\r\n")) != NULL) {
		size_t ours = sizeof(OURS) - 1, len = strlen(name), value_len;

		line += 2;
		if (strncasecmp(line, OURS, ours) != 0 ||
		    strncasecmp(line + ours, name, len) != 0 ||
		    line[ours + len] != ':')
			continue;
		line += ours + len + 1;
		line += strspn(line, " ");
		value_len = strcspn(line, "\r\n");
		if (value_len < size)
			snprintf(out, size, "%.*s", (int)value_len, line);
		return;
	}
}

void
ws_gate_pass_head(const struct ws_gate *g, struct buf *out)
{
	const char *line = g->head.data;

	while (*line != '\0') {
		size_t len = strcspn(line, "\n");

		if (strncasecmp(line, OURS, sizeof(OURS) - 1) != 0)
			buf_add(out, line, len + 1);
		line += len + 1;
	}
}

/* ---- from the client */

/* Accepts only paths that every parser reads alike: no escapes, no dots. */
static bool
is_port_path(const char *path)
{
	static const char *const PATHS[] = { "/api/expose-port",
		"/api/exposed-ports" };
	static const char CHARS[] = "abcdefghijklmnopqrstuvwxyz0123456789/-";
	size_t len = strcspn(path, "?");

	if (strspn(path, CHARS) != len || strlen(path) >= PATH_MAX_BYTES)
		return false;
	for (const char *p = path + len; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
		if (str_starts(path, PATHS[i]) &&
		    strchr("/?", path[strlen(PATHS[i])]) != NULL)
			return true;
	return false;
}

/*
 * The message as a request for a port; NULL: the message is for the wrapper,
 * which also refuses malformed requests.
 */
static json_t *
read_request(const struct buf *text)
{
	static const char WORD[] = "expose";
	auto_json json_t *m = NULL;
	const char *method;
	struct err ignored;
	size_t id_len;

	/* memmem() is a quick test that most messages do not pass */
	if (text->len == 0 ||
	    memmem(text->data, text->len, WORD, sizeof(WORD) - 1) == NULL ||
	    json_parse(text->data, text->len, &m, &ignored) < 0 ||
	    !str_equal(json_str(m, "type"), "request"))
		return NULL;
	method = json_str(m, "method");
	id_len = json_string_length(json_object_get(m, "id"));
	if (id_len == 0 || id_len >= ID_BYTES ||
	    strlen(json_str(m, "id")) != id_len ||
	    !str_made_of(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1, 16) ||
	    !is_port_path(json_str(m, "path")))
		return NULL;
	return TAKE(m);
}

/*
 * Whether the client connected with a key.  A ticket or cookie is not passed to
 * the pool, so a worker could not authenticate the client's request.
 */
static bool
has_credential(const struct ws_gate *g)
{
	char value[VALUE_MAX];

	ws_gate_header(g, "Authorization", value, sizeof(value));
	if (value[0] == '\0')
		ws_gate_header(g, "Api-Key", value, sizeof(value));
	return value[0] != '\0';
}

static void
release_held(struct ws_gate *g, struct buf *out)
{
	buf_add(out, g->held.data, g->held.len);
	buf_free(&g->held);
	buf_free(&g->text);
	g->looking = false;
}

/* Holds a piece of a message; true: the message is for a worker. */
static bool
hold_piece(struct ws_gate *g, const struct ws_frames_piece *p, struct buf *out)
{
	buf_add(&g->held, p->raw, p->len);
	if (!p->is_head)
		ws_frames_unmask(&g->up, p, &g->text);
	if (p->message_end)
		g->asked = read_request(&g->text);
	if (g->asked != NULL) {
		g->held.len = 0; /* the wrapper does not get it */
		release_held(g, out);
		return true;
	}
	if (p->message_end || g->held.len > LOOK_MAX)
		release_held(g, out);
	return false;
}

bool
ws_gate_from_client(struct ws_gate *g, const char **data, size_t *len,
    struct buf *out)
{
	struct ws_frames_piece p;

	if (g->opaque) {
		buf_add(out, *data, *len);
		*len = 0;
	}
	while (ws_frames_next(&g->up, data, len, &p)) {
		if (p.is_head && p.first)
			g->looking = p.text && has_credential(g);
		if (p.control || !g->looking)
			buf_add(out, p.raw, p.len);
		else if (hold_piece(g, &p, out))
			return true;
	}
	return false;
}

/* ---- from the wrapper */

static void
add_answers(struct ws_gate *g, struct buf *out)
{
	if (!g->replied || g->opaque || g->answers.len == 0 ||
	    !ws_frames_between_messages(&g->down))
		return;
	buf_add(out, g->answers.data, g->answers.len);
	buf_free(&g->answers);
}

static void
take_reply_head(struct ws_gate *g, const char **data, size_t *len,
    struct buf *out)
{
	static const char UPGRADED[] = "HTTP/1.1 101";

	while (*len > 0 && !g->replied) {
		buf_add(&g->reply_head, *data, 1);
		buf_add(out, *data, 1);
		(*data)++;
		(*len)--;
		g->replied = g->reply_head.len >= HEAD_MAX ||
		    (g->reply_head.len >= sizeof(END) - 1 &&
			str_equal(g->reply_head.data + g->reply_head.len -
				(sizeof(END) - 1),
			    END));
	}
	if (!g->replied)
		return;
	g->opaque = g->reply_head.len >= HEAD_MAX ||
	    !str_starts(g->reply_head.data, UPGRADED);
	buf_free(&g->reply_head);
}

void
ws_gate_from_wrapper(struct ws_gate *g, const char *data, size_t len,
    struct buf *out)
{
	struct ws_frames_piece p;

	if (!g->replied)
		take_reply_head(g, &data, &len, out);
	if (g->opaque) {
		buf_add(out, data, len);
		return;
	}
	while (ws_frames_next(&g->down, &data, &len, &p)) {
		buf_add(out, p.raw, p.len);
		add_answers(g, out);
	}
}

/* ---- the request for a worker */

static void
add_header(const struct ws_gate *g, struct buf *params, const char *name,
    const char *header)
{
	char value[VALUE_MAX];

	ws_gate_header(g, header, value, sizeof(value));
	if (value[0] != '\0')
		records_add_param(params, name, value);
}

void
ws_gate_params(const struct ws_gate *g, const char *session, struct buf *params)
{
	/* the same as nginx sends: worker.params and the routes' location */
	static const struct {
		const char *name, *header;
	} HEADERS[] = {
		{ "HTTP_AUTHORIZATION", "Authorization" },
		{ "HTTP_X_API_KEY", "Api-Key" },
		{ "REMOTE_ADDR", "Address" },
		{ "SL_REQUEST_ID", "Request" },
		{ "SL_SCHEME", "Scheme" },
		{ "SL_HOST", "Host" },
	};
	const char *path = json_str(g->asked, "path");
	auto_free char *uri = xasprintf("/v1/sessions/%s%s", session, path);
	auto_free char *body = ws_gate_body(g);
	char length[24];

	snprintf(length, sizeof(length), "%zu", strlen(body));
	records_add_param(params, "REQUEST_METHOD",
	    json_str(g->asked, "method"));
	records_add_param(params, "REQUEST_URI", uri);
	records_add_param(params, "QUERY_STRING",
	    strchr(uri, '?') != NULL ? strchr(uri, '?') + 1 : "");
	uri[strcspn(uri, "?")] = '\0';
	records_add_param(params, "SL_PATH", uri);
	records_add_param(params, "SL_SURFACE", "data");
	records_add_param(params, "CONTENT_TYPE", "application/json");
	records_add_param(params, "CONTENT_LENGTH", length);
	records_add_param(params, "SERVER_PROTOCOL", "HTTP/1.1");
	for (size_t i = 0; i < ARRAY_LEN(HEADERS); i++)
		add_header(g, params, HEADERS[i].name, HEADERS[i].header);
}

char *
ws_gate_body(const struct ws_gate *g)
{
	const json_t *body = json_object_get(g->asked, "body");

	return body != NULL && !json_is_null(body)
	    ? json_dumps(body, JSON_ENCODE_ANY | JSON_COMPACT)
	    : xstrdup("");
}

bool
ws_gate_only_reads(const struct ws_gate *g)
{
	return str_equal(json_str(g->asked, "method"), "GET");
}

/* The worker's answer as a message; NULL: it is not complete. */
static json_t *
read_answer(const struct buf *cgi, const json_t *id)
{
	static const char STATUS[] = "Status: ";
	const char *body = cgi->len > 0 ? strstr(cgi->data, END) : NULL;
	json_t *value = NULL, *message;
	char digits[4] = "";
	int64_t status = 200;
	struct err ignored;

	if (body == NULL)
		return NULL;
	body += sizeof(END) - 1;
	if (str_starts(cgi->data, STATUS)) {
		memcpy(digits, cgi->data + sizeof(STATUS) - 1, 3);
		if (!str_to_int(digits, 200, 599, &status))
			return NULL;
	}
	if (*body != '\0' &&
	    json_parse(body, strlen(body), &value, &ignored) < 0)
		return NULL;
	message = json_pack("{s:s, s:O, s:I}", "type", "response", "id", id,
	    "status", (json_int_t)status);
	if (value != NULL)
		json_object_set_new(message, "body", value);
	json_object_set_new(message, "done", json_true());
	return message;
}

static json_t *
make_error(const struct ws_gate *g, bool lost)
{
	static const struct {
		enum err_code code;
		int status;
		const char *message;
	} ERRORS[] = {
		{ CODE_CONTAINER_UNAVAILABLE, 503,
		    "The service is busy or restarting; try again." },
		{ CODE_CONNECTION_LOST, 500,
		    "The connection to the service was lost while it worked on this request; look before you repeat it." },
	};

	return json_pack("{s:s, s:O, s:s, s:s, s:i}", "type", "error", "id",
	    json_object_get(g->asked, "id"), "code",
	    code_capitals(ERRORS[lost].code), "message", ERRORS[lost].message,
	    "status", ERRORS[lost].status);
}

void
ws_gate_answer(struct ws_gate *g, const struct buf *cgi, struct buf *out)
{
	auto_json json_t *m = cgi != NULL
	    ? read_answer(cgi, json_object_get(g->asked, "id"))
	    : NULL;
	auto_free char *text = NULL;

	if (m == NULL)
		m = make_error(g, cgi != NULL && !ws_gate_only_reads(g));
	text = json_text(m);
	ws_frames_add_text(&g->answers, text, strlen(text));
	json_release(&g->asked);
	add_answers(g, out);
}

void
ws_gate_free(struct ws_gate *g)
{
	struct buf *const ALL[] = { &g->head, &g->reply_head, &g->held,
		&g->text, &g->rest, &g->answers };

	for (size_t i = 0; i < ARRAY_LEN(ALL); i++)
		buf_free(ALL[i]);
	json_release(&g->asked);
	free(g);
}
