/* v1_ports.c: preview URLs of a session. */
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/audit.h"
#include "api/handlers.h"
#include "api/routes.h"
#include "api/session_body.h"
#include "api/session_json.h"
#include "common/mem.h"
#include "control/preview_control.h"

enum { PORT_MIN = 1024, PORT_MAX = 65535, PROXY_PORT = 3128 };

struct port_body {
	int64_t port;
	char name[65];
	int64_t expires_in_seconds;
};

/* clang-format off */
const struct jfield PORT_FIELDS[] = {
	JFIELD("port", struct port_body, port, J_INT, J_REQUIRED, PORT_MIN, PORT_MAX, "where something listens inside"),
	JFIELD("name", struct port_body, name, J_STR, 0, 1, 64, "for people"),
	JFIELD("expiresInSeconds", struct port_body, expires_in_seconds, J_INT, 0, 1, 31536000, "the URL ends then"),
};
/* clang-format on */
const size_t PORT_FIELD_COUNT = ARRAY_LEN(PORT_FIELDS);

static int
check_port(int64_t port, struct err *e)
{
	if (port == PROXY_PORT)
		return err_field(e, "port", "%d belongs to the network proxy",
		    PROXY_PORT);
	return 0;
}

/* Somebody wants a port that is not for previews. */
static void
note_refused(struct call *c, const json_t *body, const struct err *e)
{
	const json_t *port = json_object_get(body, "port");

	if (str_equal(e->field, "port") && json_is_integer(port))
		audit_port(c, call_var(c, "id"), json_integer_value(port));
}

static int
path_port(const struct call *c, int64_t *port, struct err *e)
{
	if (!str_to_int(call_var(c, "port"), 1, PORT_MAX, port))
		return err_field(e, "port", "must be a port number");
	return 0;
}

/* Which base URL its previews have. */
static int
base_url_of(struct call *c, struct control *ctl, const char *id,
    struct buf *out, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_SESSION_ENV, &r, e, id,
		app_of(c)->who.tenant) < 0)
		return -1;
	buf_str(out, rows_count(r) > 0 ? rows_text(r, 0, "base_url") : "");
	return 0;
}

static int
reply_port(struct call *c, struct control *ctl, int status, json_t *port,
    struct err *e)
{
	auto_buf struct buf base = { 0 };
	const char *id = call_var(c, "id");

	if (base_url_of(c, ctl, id, &base, e) < 0 ||
	    session_json_port(ctl, id, base.data, port, e) < 0)
		return -1;
	call_reply(c, status, port);
	return 0;
}

int
v1_port_expose(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL, *port = NULL;
	struct port_body b = { 0 };
	char seconds[24];
	bool created;

	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0)
		return -1;
	if (jfield_decode(json, PORT_FIELDS, PORT_FIELD_COUNT, 0, &b, e) < 0 ||
	    check_port(b.port, e) < 0) {
		note_refused(c, json, e);
		return -1;
	}
	snprintf(seconds, sizeof(seconds), "%lld",
	    (long long)b.expires_in_seconds);
	if (preview_expose(ctl, call_var(c, "id"), app_of(c)->who.tenant,
		b.port, b.name[0] != '\0' ? b.name : NULL,
		b.expires_in_seconds > 0 ? seconds : NULL, &port, &created,
		e) < 0)
		return -1;
	return reply_port(c, ctl, created ? 201 : 200, port, e);
}

int
v1_port_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array(), *reply = NULL;
	auto_buf struct buf base = { 0 };
	const char *id = call_var(c, "id");

	if (ctl == NULL || base_url_of(c, ctl, id, &base, e) < 0 ||
	    STORE_RUN(ctl->store, STMT_PORT_LIST, &r, e, id,
		app_of(c)->who.tenant) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, "session_not_found",
		    "there is no such session");
	for (size_t i = 0; i < rows_count(r); i++) {
		const char *text = rows_text(r, i, "json");
		json_t *port = NULL;

		if (rows_null(r, i, "json"))
			continue;
		if (json_parse(text, strlen(text), &port, e) < 0)
			return -1;
		json_array_append_new(list, port);
		if (session_json_port(ctl, id, base.data, port, e) < 0)
			return -1;
	}
	reply = json_pack("{s:O}", "ports", list);
	call_reply(c, 200, reply);
	return 0;
}

int
v1_port_remove(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	int64_t port;

	if (ctl == NULL || path_port(c, &port, e) < 0 ||
	    preview_remove(ctl, call_var(c, "id"), app_of(c)->who.tenant, port,
		e) < 0)
		return -1;
	call_reply_empty(c, 204);
	return 0;
}

int
v1_port_rotate(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *out = NULL;
	int64_t port;

	if (ctl == NULL || path_port(c, &port, e) < 0 ||
	    preview_rotate(ctl, call_var(c, "id"), app_of(c)->who.tenant, port,
		&out, e) < 0)
		return -1;
	return reply_port(c, ctl, 200, out, e);
}
