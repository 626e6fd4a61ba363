/*
 * container_ports.c: exposes and lists ports for the Cloudflare SDK.
 *
 * The SDK's own container only keeps a list of ports, and the SDK makes the
 * URLs.  This service answers with the real URL.  `sessionId` names a shell and
 * is ignored: a shell has no ports of its own.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/port_body.h"
#include "api/v1/session_json.h"
#include "control/preview_control.h"
#include "web/reply.h"

/*
 * Adds the port to an error about it.  A port number that is not allowed gets
 * the code for which the SDK has an exception class.
 */
static int
name_port(struct err *e, int64_t port)
{
	bool cannot_be = str_equal(e->field, "port");

	if (cannot_be)
		e->code = CODE_INVALID_PORT_NUMBER;
	if (port != 0 && (cannot_be || str_starts(code_word(e->code), "port_")))
		snprintf(e->more, sizeof(e->more), "{\"port\": %" PRId64 "}",
		    port);
	return -1;
}

int
container_port_expose(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *port = NULL, *ignored = NULL;
	const char *id = call_var(c, "id");
	struct preview_options options;
	struct port_body b;
	bool created;

	if (ctl == NULL)
		return -1;
	if (port_body_read_lenient(c, &b, &ignored, e) < 0)
		return name_port(e, b.port);
	options = port_body_options(&b);
	options.only_new = true;
	if (preview_expose(ctl, id, app_of(c)->who.tenant, &options, &port,
		&created, e) < 0)
		return name_port(e, b.port);
	if (session_json_show_port(c, ctl, id, port, e) < 0)
		return -1;
	if (ignored != NULL)
		json_object_set(port, "ignored", ignored);
	reply_container(c, json_incref(port));
	return 0;
}

int
container_port_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *list = json_array();
	json_t *port;
	size_t i;

	if (ctl == NULL ||
	    session_json_ports(c, ctl, call_var(c, "id"), list, e) < 0)
		return -1;
	json_array_foreach(list, i, port)
	{
		if (!str_equal(json_str(port, "status"), "active"))
			json_object_set_new(port, "status",
			    json_string("inactive"));
	}
	reply_container(c,
	    json_pack("{s:O, s:I}", "ports", list, "count",
		(json_int_t)json_array_size(list)));
	return 0;
}

int
container_port_remove(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	int64_t port = 0;
	bool gone;

	if (ctl == NULL)
		return -1;
	if (port_body_path(c, &port, e) < 0 ||
	    preview_remove(ctl, call_var(c, "id"), app_of(c)->who.tenant, port,
		&gone, e) < 0)
		return name_port(e, port);
	reply_container_as(c, gone ? 200 : 202,
	    json_pack("{s:I}", "port", (json_int_t)port));
	return 0;
}
