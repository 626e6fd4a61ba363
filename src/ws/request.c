/* request.c: checks the HTTP request that opens a WebSocket. */
#include "ws/request.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { PATH_BYTES = 64, ARG_BYTES = 1024, HEAD_BYTES = 512 };

static const char PTY[] = "/ws/pty";
static const char *const PATHS[] = { "/ws", "/api/ws", PTY };

/* Query arguments for the wrapper; lws needs "name=", see arg_of(). */
static const char *const ARGS[] = { "sessionId", "cols", "rows", "shell",
	"cwd" };

static const char *
path_of(struct lws *wsi)
{
	char path[PATH_BYTES];

	if (lws_hdr_copy(wsi, path, sizeof(path), WSI_TOKEN_GET_URI) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
		if (str_equal(path, PATHS[i]))
			return PATHS[i];
	return NULL;
}

/* An argument's value in `room`; NULL: missing, "", too long or no text. */
static const char *
arg_of(struct lws *wsi, const char *name, char room[ARG_BYTES])
{
	char wanted[PATH_BYTES];
	const char *value;

	snprintf(wanted, sizeof(wanted), "%s=", name);
	value = lws_get_urlarg_by_name(wsi, wanted, room, ARG_BYTES);
	return value != NULL && value[0] != '\0' && json_is_text(value) ? value
									: NULL;
}

json_t *
request_describe(struct lws *wsi)
{
	const char *path = path_of(wsi);
	json_t *args = json_object();
	char room[ARG_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(ARGS); i++) {
		const char *value = arg_of(wsi, ARGS[i], room);

		if (value != NULL)
			json_object_set_new(args, ARGS[i], json_string(value));
	}
	return json_pack("{s:s, s:o}", "path", path != NULL ? path : "", "args",
	    args);
}

/*
 * Answers in the error format of the data plane, as reply_container_error() of
 * web/reply.h does in the wrapper.  Returns -1, which ends the connection.
 */
static int
reply_error(struct lws *wsi, unsigned status, enum err_code code,
    const char *message)
{
	unsigned char head[LWS_PRE + HEAD_BYTES];
	unsigned char *p = head + LWS_PRE, *end = head + sizeof(head);
	auto_buf struct buf body = { 0 };
	auto_json json_t *o = NULL;
	auto_free char *text = NULL;
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	o = json_pack("{s:s, s:s, s:s, s:{}, s:i, s:s}", "code",
	    code_capitals(code), "message", message, "error", message,
	    "context", "httpStatus", (int)status, "timestamp", at);
	text = json_text(o);
	(void)buf_room(&body, LWS_PRE);
	body.len = LWS_PRE;
	buf_str(&body, text);
	if (lws_add_http_common_headers(wsi, status, "application/json",
		body.len - LWS_PRE, &p, end) == 0 &&
	    lws_finalize_write_http_header(wsi, head + LWS_PRE, &p, end) == 0)
		(void)!lws_write(wsi, (unsigned char *)body.data + LWS_PRE,
		    body.len - LWS_PRE, LWS_WRITE_HTTP_FINAL);
	return -1;
}

bool
request_admit(struct lws *wsi, bool full)
{
	const char *path = path_of(wsi);
	char room[ARG_BYTES];

	if (path == NULL)
		reply_error(wsi, HTTP_STATUS_NOT_FOUND, CODE_UNKNOWN_ERROR,
		    "The requested endpoint was not found");
	else if (path == PTY && arg_of(wsi, "sessionId", room) == NULL)
		reply_error(wsi, HTTP_STATUS_BAD_REQUEST,
		    CODE_VALIDATION_FAILED, "sessionId: is required");
	else if (full)
		reply_error(wsi, 429, CODE_TOO_MANY_CONNECTIONS,
		    "the session has too many WebSockets open");
	else
		return true;
	return false;
}

int
request_refuse(struct lws *wsi)
{
	return reply_error(wsi, 426, CODE_UPGRADE_REQUIRED,
	    "this path is for WebSockets");
}
