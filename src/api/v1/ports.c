/* ports.c: exposes, lists and closes ports of a session. */
#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/port_body.h"
#include "api/v1/session_json.h"
#include "control/preview_control.h"

static int
reply_port(struct call *c, struct control *ctl, int status, json_t *port,
    struct err *e)
{
	if (session_json_show_port(c, ctl, call_var(c, "id"), port, e) < 0)
		return -1;
	call_reply(c, status, port);
	return 0;
}

int
v1_port_expose(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *port = NULL;
	struct preview_options options;
	struct port_body b;
	bool created;

	if (ctl == NULL || port_body_read(c, &b, e) < 0)
		return -1;
	options = port_body_options(&b);
	if (preview_expose(ctl, call_var(c, "id"), app_of(c)->who.tenant,
		&options, &port, &created, e) < 0)
		return -1;
	return reply_port(c, ctl, created ? 201 : 200, port, e);
}

int
v1_port_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *list = json_array(), *reply = NULL;

	if (ctl == NULL ||
	    session_json_ports(c, ctl, call_var(c, "id"), list, e) < 0)
		return -1;
	reply = json_pack("{s:O}", "ports", list);
	call_reply(c, 200, reply);
	return 0;
}

int
v1_port_remove(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	int64_t port;
	bool gone;

	if (ctl == NULL || port_body_path(c, &port, e) < 0 ||
	    preview_remove(ctl, call_var(c, "id"), app_of(c)->who.tenant, port,
		&gone, e) < 0)
		return -1;
	call_reply_empty(c, gone ? 204 : 202);
	return 0;
}

int
v1_port_rotate(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *out = NULL;
	int64_t port;

	if (ctl == NULL || port_body_path(c, &port, e) < 0 ||
	    preview_rotate(ctl, call_var(c, "id"), app_of(c)->who.tenant, port,
		&out, e) < 0)
		return -1;
	return reply_port(c, ctl, 200, out, e);
}
