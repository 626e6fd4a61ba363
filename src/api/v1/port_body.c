/* port_body.c: reads which port a request wants to expose. */
#include "api/v1/port_body.h"

#include <stdio.h>
#include <string.h>

#include "api/gate/audit.h"
#include "api/v1/handlers.h"
#include "api/v1/session_body.h"
#include "common/mem.h"

enum {
	PORT_MIN = 1024,
	PORT_MAX = 65535,
	PROXY_PORT = 3128,
	IGNORED_MAX = 16,
	CONTAINER_PORT = 3000 /* where the SDK's own container listens */
};

/* clang-format off */
const struct jfield PORT_FIELDS[] = {
	JFIELD("port", struct port_body, port, J_INT, J_REQUIRED, PORT_MIN, PORT_MAX, "where something listens inside"),
	JFIELD("name", struct port_body, name, J_STR, 0, 1, 64, "for people"),
	JFIELD("expiresInSeconds", struct port_body, expires_in_seconds, J_INT, 0, 1, 31536000, "the URL ends then"),
	JFIELD_ENUM("host", struct port_body, host, 0, PREVIEW_HOSTS, "the Host header that the app hears"),
	JFIELD("hostname", struct port_body, hostname, J_STR, 0, 1, PORT_HOSTNAME_MAX, "the domain of its URL, if not the service's"),
};
/* clang-format on */
const size_t PORT_FIELD_COUNT = ARRAY_LEN(PORT_FIELDS);

/* Writes an audit note if the client wants a port that is not allowed. */
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

/* A domain that can have subdomains: neither an IP address nor a URL. */
static bool
is_domain(const char *s, size_t len)
{
	char name[PORT_HOSTNAME_MAX + 1];
	const char *last;
	int64_t n;

	if (len == 0 || len >= sizeof(name))
		return false;
	memcpy(name, s, len);
	name[len] = '\0';
	last = strrchr(name, '.');
	last = last != NULL ? last + 1 : name;
	return str_made_of(name, "abcdefghijklmnopqrstuvwxyz0123456789.-", 1,
		   len) &&
	    strchr(".-", name[0]) == NULL &&
	    strchr(".-", name[len - 1]) == NULL && strstr(name, "..") == NULL &&
	    !str_to_int(last, 0, INT64_MAX, &n);
}

/* Makes base_url of hostname as the SDK does: https, except on localhost. */
static int
read_hostname(struct port_body *b, struct err *e)
{
	size_t len = strcspn(b->hostname, ":");
	const char *port = b->hostname + len;
	int64_t n;

	if (b->hostname[0] == '\0')
		return 0;
	if (!is_domain(b->hostname, len) ||
	    (port[0] != '\0' && !str_to_int(port + 1, 1, PORT_MAX, &n)))
		return err_field(e, "hostname",
		    "must be a domain such as previews.example.com or localhost:8080");
	snprintf(b->base_url, sizeof(b->base_url), "%s://%s",
	    host_is_local(b->hostname) ? "http" : "https", b->hostname);
	return 0;
}

static int
decode_port_body(struct call *c, const json_t *body, unsigned flags,
    struct port_body *out, struct err *e)
{
	if (jfield_decode(body, PORT_FIELDS, PORT_FIELD_COUNT, flags, out, e) ==
		0 &&
	    check_port(out->port, flags, e) == 0 && read_hostname(out, e) == 0)
		return 0;
	note_refused(c, body, e);
	out->port = json_integer_value(json_object_get(body, "port"));
	return -1;
}

int
port_body_read(struct call *c, struct port_body *out, struct err *e)
{
	auto_json json_t *body = NULL;

	*out = (struct port_body){ .host = -1 };
	if (call_json(c, BODY_MAX, &body, e) < 0)
		return -1;
	return decode_port_body(c, body, 0, out, e);
}

static bool
is_port_field(const char *name)
{
	for (size_t i = 0; i < PORT_FIELD_COUNT; i++)
		if (str_equal(PORT_FIELDS[i].name, name))
			return true;
	return str_equal(name, "sessionId"); /* a shell, without ports */
}

static json_t *
unknown_members(json_t *body)
{
	auto_json json_t *names = json_array();
	const char *name;
	json_t *v;

	json_object_foreach(body, name, v)
	{
		if (!is_port_field(name) &&
		    json_array_size(names) < IGNORED_MAX)
			json_array_append_new(names, json_string(name));
	}
	return json_array_size(names) > 0 ? TAKE(names) : NULL;
}

int
port_body_read_lenient(struct call *c, struct port_body *out, json_t **ignored,
    struct err *e)
{
	auto_json json_t *body = NULL;

	*out = (struct port_body){ .host = -1 };
	if (call_json(c, BODY_MAX, &body, e) < 0)
		return -1;
	/* null and "" mean: not given; no field has such a value */
	for (size_t i = 0; i < PORT_FIELD_COUNT; i++) {
		const json_t *v = json_object_get(body, PORT_FIELDS[i].name);

		if (json_is_null(v) ||
		    (json_is_string(v) && json_string_length(v) == 0))
			json_object_del(body, PORT_FIELDS[i].name);
	}
	*ignored = unknown_members(body);
	return decode_port_body(c, body, J_LENIENT, out, e);
}

struct preview_options
port_body_options(const struct port_body *b)
{
	return (struct preview_options){ .port = b->port,
		.name = b->name[0] != '\0' ? b->name : NULL,
		.host = b->host >= 0 ? PREVIEW_HOSTS[b->host] : NULL,
		.base_url = b->base_url[0] != '\0' ? b->base_url : NULL,
		.expires_seconds = b->expires_in_seconds };
}

int
port_body_path(const struct call *c, int64_t *port, struct err *e)
{
	if (!str_to_int(call_var(c, "port"), 1, PORT_MAX, port))
		return err_field(e, "port", "must be a port number");
	return 0;
}
