/* port_body.c: which port is to be exposed. */
#include "api/port_body.h"

#include "api/audit.h"
#include "api/routes.h"
#include "api/session_body.h"
#include "common/mem.h"

enum {
	PORT_MIN = 1024,
	PORT_MAX = 65535,
	PROXY_PORT = 3128,
	CONTAINER_PORT = 3000 /* where the SDK's own container listens */
};

/* clang-format off */
const struct jfield PORT_FIELDS[] = {
	JFIELD("port", struct port_body, port, J_INT, J_REQUIRED, PORT_MIN, PORT_MAX, "where something listens inside"),
	JFIELD("name", struct port_body, name, J_STR, 0, 1, 64, "for people"),
	JFIELD("expiresInSeconds", struct port_body, expires_in_seconds, J_INT, 0, 1, 31536000, "the URL ends then"),
};
/* clang-format on */
const size_t PORT_FIELD_COUNT = ARRAY_LEN(PORT_FIELDS);

/* Somebody wants a port that is not for previews. */
static void
note_refused(struct call *c, const json_t *body, const struct err *e)
{
	const json_t *port = json_object_get(body, "port");

	if (str_equal(e->field, "port") && json_is_integer(port))
		audit_port(c, call_var(c, "id"), json_integer_value(port));
}

static int
check_port(int64_t port, unsigned flags, struct err *e)
{
	if (port == PROXY_PORT)
		return err_field(e, "port", "%d belongs to the network proxy",
		    PROXY_PORT);
	if (port == CONTAINER_PORT && (flags & J_LENIENT) != 0)
		return err_field(e, "port", "%d is reserved", CONTAINER_PORT);
	return 0;
}

static int
decode(struct call *c, const json_t *body, unsigned flags,
    struct port_body *out, struct err *e)
{
	if (jfield_decode(body, PORT_FIELDS, PORT_FIELD_COUNT, flags, out, e) ==
		0 &&
	    check_port(out->port, flags, e) == 0)
		return 0;
	note_refused(c, body, e);
	out->port = json_integer_value(json_object_get(body, "port"));
	return -1;
}

int
port_body_read(struct call *c, struct port_body *out, struct err *e)
{
	auto_json json_t *body = NULL;

	*out = (struct port_body){ 0 };
	if (call_json(c, BODY_MAX, &body, e) < 0)
		return -1;
	return decode(c, body, 0, out, e);
}

static bool
is_nothing(const json_t *v)
{
	return json_is_null(v) ||
	    (json_is_string(v) && json_string_length(v) == 0);
}

int
port_body_read_lenient(struct call *c, struct port_body *out, struct err *e)
{
	auto_json json_t *body = NULL;

	*out = (struct port_body){ 0 };
	if (call_json(c, BODY_MAX, &body, e) < 0)
		return -1;
	for (size_t i = 0; i < PORT_FIELD_COUNT; i++)
		if (is_nothing(json_object_get(body, PORT_FIELDS[i].name)))
			json_object_del(body, PORT_FIELDS[i].name);
	return decode(c, body, J_LENIENT, out, e);
}

int
port_body_path(const struct call *c, int64_t *port, struct err *e)
{
	if (!str_to_int(call_var(c, "port"), 1, PORT_MAX, port))
		return err_field(e, "port", "must be a port number");
	return 0;
}
