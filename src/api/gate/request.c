/* request.c: classifies the client's request that nginx asks about. */
#include "api/gate/request.h"

#include "api/gate/ticket.h"
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

bool
request_reads_only(const struct call *c)
{
	return (str_equal(c->method, "GET") || str_equal(c->method, "HEAD")) &&
	    !ticket_upgrades(c);
}
