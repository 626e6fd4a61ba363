/* request.c: classifies the client's request that nginx asks about. */
#include "api/gate/request.h"

#include <string.h>
#include <strings.h>

#include "common/str.h"

bool
request_is_probe(const struct call *c)
{
	return str_equal(call_param(c, "HTTP_X_SANDLEASE_PROBE"), "1");
}

bool
request_is_proxied(const struct call *c)
{
	return call_param(c, "SL_PORT")[0] != '\0';
}

const char *
request_rest(const struct call *c)
{
	static const char SESSIONS[] = "/v1/sessions/";
	const char *id = call_param(c, "SL_SESSION"), *rest = c->path;

	if (!str_starts(rest, SESSIONS))
		return "";
	rest += strlen(SESSIONS);
	if (!str_starts(rest, id) || rest[strlen(id)] != '/')
		return "";
	return rest + strlen(id) + 1;
}

bool
request_upgrades(const struct call *c)
{
	return strcasecmp(call_param(c, "HTTP_UPGRADE"), "websocket") == 0;
}

bool
request_reads_only(const struct call *c)
{
	return (str_equal(c->method, "GET") || str_equal(c->method, "HEAD")) &&
	    !request_upgrades(c);
}
