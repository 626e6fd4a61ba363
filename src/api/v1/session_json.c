/* session_json.c: makes the JSON of sessions and ports for clients. */
#include "api/v1/session_json.h"

#include <string.h>

#include "api/gate/ticket.h"
#include "api/v1/session_now.h"
#include "common/mem.h"
#include "control/preview_control.h"
#include "control/session_control.h"

/* http://{port}-{id}-{token}.{domain}/; without a domain the path form. */
static json_t *
preview_url(const struct conf *conf, const char *base_url, const char *id,
    json_int_t port, const char *token)
{
	const char *base = str_empty(base_url) ? conf->preview_base : base_url;
	const char *host = strstr(base, "://");

	if (host != NULL)
		return json_sprintf("%.*s://%" JSON_INTEGER_FORMAT "-%s-%s.%s/",
		    (int)(host - base), base, port, id, token, host + 3);
	if (conf->preview_path_base[0] != '\0')
		return json_sprintf("%s/p/%" JSON_INTEGER_FORMAT "-%s-%s/",
		    conf->preview_path_base, port, id, token);
	return json_null();
}

/*
 * Replaces the sealed token by the URL.  If the seal key is gone, the URL still
 * works for clients that know it, but cannot be shown.  That must not make the
 * whole session unreadable.
 */
static int
show_port(struct control *ctl, const char *id, const char *base_url,
    json_t *port, struct err *e)
{
	auto_buf struct buf token = { 0 };
	json_int_t n = json_integer_value(json_object_get(port, "port"));
	struct err why = { 0 };

	if (json_str(port, "baseUrl")[0] != '\0')
		base_url = json_str(port, "baseUrl");
	if (preview_token(ctl, id, n, json_str(port, "token"), &token, &why) ==
	    0) {
		json_object_set_new(port, "url",
		    preview_url(ctl->conf, base_url, id, n, token.data));
	} else if (why.code == CODE_SEAL_KEY_MISSING) {
		json_object_set_new(port, "url", json_null());
		json_object_set_new(port, "urlError",
		    json_string(code_word(why.code)));
	} else {
		*e = why;
		return -1;
	}
	json_object_del(port, "token");
	json_object_del(port, "baseUrl");
	return 0;
}

static int64_t
int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/*
 * Replaces each limit by {"value", "by"}; `by` says what enforces it.
 */
static void
explain_limits(struct control *ctl, json_t *s)
{
	const json_t *l = json_object_get(s, "limits");
	json_t *explained, *requests;
	struct sandbox_spec spec = { .memory_mb = int_of(l, "memoryMb"),
		.cpu_millis = int_of(l, "cpuMillis"),
		.disk_mb = int_of(l, "diskMb"),
		.pids = int_of(l, "pids") };

	str_copy(spec.id, sizeof(spec.id), json_str(s, "sandboxId"));
	str_copy(spec.rootfs, sizeof(spec.rootfs), json_str(l, "rootfs"));
	explained = session_control_limits(ctl, &spec);
	requests = json_object_get(l, "networkRequests");
	if (requests != NULL)
		json_object_set_new(explained, "networkRequests",
		    json_pack("{s:O, s:s}", "value", requests, "by", "egress"));
	json_object_set_new(s, "limits", explained);
}

/* Makes a session's object of the row's text; session_now() completes it. */
static int
show_session(struct control *ctl, const char *text, json_t **out, struct err *e)
{
	auto_json json_t *s = NULL;
	auto_free char *terminal = NULL;
	const char *id;
	json_t *port;
	size_t i;

	if (json_parse(text, strlen(text), &s, e) < 0)
		return -1;
	id = json_str(s, "id");
	json_array_foreach(json_object_get(s, "ports"), i, port)
	{
		if (show_port(ctl, id, json_str(s, "baseUrl"), port, e) < 0)
			return -1;
	}
	json_object_del(s, "baseUrl");
	explain_limits(ctl, s);
	terminal = ticket_socket_url(ctl->conf, id, TICKET_TERMINAL, NULL);
	json_object_set_new(s, "urls",
	    json_pack("{s:o, s:s}", "api",
		json_sprintf("%s/v1/sessions/%s", ctl->conf->public_url, id),
		"terminal", terminal));
	*out = TAKE(s);
	return 0;
}

int
session_json_list(struct call *c, struct control *ctl, const struct rows *r,
    size_t count, json_t *list, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		json_t *s = NULL;

		if (show_session(ctl, rows_text(r, i, "json"), &s, e) < 0)
			return -1;
		json_array_append_new(list, s);
	}
	session_now(c, ctl, list);
	return 0;
}

/* Shows the session that this request has started, by the row of its start. */
static bool
show_started(struct control *ctl, const char *id, json_t **out)
{
	auto_json json_t *s = NULL;
	struct err ignored = { 0 };

	if (ctl->started == NULL ||
	    show_session(ctl, rows_text(ctl->started, 0, "json"), &s,
		&ignored) < 0 ||
	    !str_equal(json_str(s, "id"), id))
		return false;
	control_forget_started(ctl);
	session_now_idle(s);
	*out = TAKE(s);
	return true;
}

int
session_json_read(struct call *c, struct control *ctl, const char *id,
    json_t **out, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array();

	if (!id_is_session(id))
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	if (show_started(ctl, id, out))
		return 0;
	if (STORE_RUN(ctl->store, STMT_SESSION_GET, &r, e, id,
		app_of(c)->who.tenant) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	if (session_json_list(c, ctl, r, 1, list, e) < 0)
		return -1;
	*out = json_incref(json_array_get(list, 0));
	return 0;
}

/* Appends the base URL of the session's previews to `out`. */
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

int
session_json_show_port(struct call *c, struct control *ctl, const char *id,
    json_t *port, struct err *e)
{
	auto_buf struct buf base = { 0 };

	if (base_url_of(c, ctl, id, &base, e) < 0)
		return -1;
	return show_port(ctl, id, base.data, port, e);
}

int
session_json_ports(struct call *c, struct control *ctl, const char *id,
    json_t *list, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_buf struct buf base = { 0 };

	if (base_url_of(c, ctl, id, &base, e) < 0 ||
	    STORE_RUN(ctl->store, STMT_PORT_LIST, &r, e, id,
		app_of(c)->who.tenant) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	for (size_t i = 0; i < rows_count(r); i++) {
		json_t *port = NULL;

		if (rows_null(r, i, "json"))
			continue;
		if (rows_json(r, i, "json", &port, e) < 0)
			return -1;
		json_array_append_new(list, port);
		if (show_port(ctl, id, base.data, port, e) < 0)
			return -1;
	}
	return 0;
}
