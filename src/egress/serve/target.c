/* target.c: the host for which a request is, and whether it may be reached. */
#include <stdio.h>
#include <string.h>

#include "common/str.h"
#include "egress/serve/http.h"

enum { HTTP_PORT = 80, TLS_PORT = 443 };

/* The port of a URL that names none. */
static uint16_t
default_port(const struct conn *c)
{
	return c->http->kind == HTTP_IN_TLS ? TLS_PORT : HTTP_PORT;
}

/* Compares "host[:port]" of a request with the connection's target. */
static bool
is_target(const struct conn *c, const char *authority)
{
	char host[NETWORK_HOST_MAX];
	const char *at;
	uint16_t port;
	size_t len;

	return http_authority(authority, default_port(c), &at, &len, &port) &&
	    network_host(at, len, host) && str_equal(host, c->host) &&
	    port == c->port;
}

/* A response to TRACE has the request's headers, secrets included. */
static bool
shows_headers(const struct conn *c)
{
	return str_equal(c->http->request.method, "TRACE") &&
	    policy_has_secret(c->of, c->host);
}

/* The target is the one the client has connected to; false: denied. */
static bool
check_direct(struct conn *c)
{
	const struct http_request *r = &c->http->request;

	if (r->connect || r->https) {
		conn_deny(c, DENY_BAD_REQUEST, NULL);
		return false;
	}
	/* one of HTTP/1.0 may name no host, and gets the target's */
	if (!policy_checks_name(c->of, c->host) ||
	    ((r->host[0] == '\0' || is_target(c, r->host)) &&
		(r->authority[0] == '\0' || is_target(c, r->authority))))
		return true;
	conn_deny(c, DENY_HOST_HEADER, r->host);
	return false;
}

/* The target is in the request; false: denied. */
static bool
read_proxied(struct conn *c)
{
	const struct http_request *r = &c->http->request;
	const char *at;
	size_t len;

	c->host[0] = '\0';
	c->port = 0;
	if (r->authority[0] == '\0') {
		conn_deny(c, DENY_PROXY_REQUEST, NULL);
		return false;
	}
	if (!http_authority(r->authority,
		r->connect || r->https ? TLS_PORT : HTTP_PORT, &at, &len,
		&c->port) ||
	    !network_host(at, len, c->host)) {
		conn_deny(c, DENY_BAD_NAME, r->authority);
		return false;
	}
	if (r->https) {
		conn_deny(c, DENY_PROXY_REQUEST, NULL);
		return false;
	}
	return true;
}

bool
target_find(struct conn *c)
{
	const struct http *h = c->http;

	if (h->kind == HTTP_PROXY ? !read_proxied(c) : !check_direct(c))
		return false;
	if (!policy_allows(c->of, c->host, c->port)) {
		conn_deny(c, policy_denial(c->of, c->host, c->port), NULL);
		return false;
	}
	if (shows_headers(c)) {
		conn_deny(c, DENY_TRACE, NULL);
		return false;
	}
	/* the last byte of the head is parsed with what follows it */
	if (h->request.connect && h->in.len > 1) {
		conn_deny(c, DENY_BAD_REQUEST, NULL);
		return false;
	}
	return true;
}

/* Whether the header Host is to be the target's. */
static bool
is_checked(const struct conn *c)
{
	return c->http->kind == HTTP_PROXY ||
	    c->http->request.host[0] == '\0' ||
	    policy_checks_name(c->of, c->host);
}

/* The name of the target, with the port unless everyone knows it. */
static void
write_host(const struct conn *c, char out[HTTP_HOST_TEXT_MAX])
{
	bool v6 = strchr(c->host, ':') != NULL;
	char port[8] = "";

	if (c->port != default_port(c))
		snprintf(port, sizeof(port), ":%u", c->port);
	snprintf(out, HTTP_HOST_TEXT_MAX, "%s%s%s%s", v6 ? "[" : "", c->host,
	    v6 ? "]" : "", port);
}

void
target_host(const struct conn *c, char out[HTTP_HOST_TEXT_MAX])
{
	if (is_checked(c))
		write_host(c, out);
	else
		str_copy(out, HTTP_HOST_TEXT_MAX, c->http->request.host);
}
