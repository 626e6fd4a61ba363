/* deny.c: counts refused connections and tells why. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "egress/serve/serve.h"

enum { FORBIDDEN = 403, TELL_BURST = 60, TELL_EACH_MS = 1000 };

/*
 * The word in events, the text for the client (%s is the host) and the status
 * of an HTTP response, 403 if it is 0.
 */
static const struct {
	const char *word, *text;
	int status;
} DENIALS[DENIAL__MAX] = {
	[DENY_NOT_ALLOWED] = { "not_allowed",
	    "network_denied: add %s to network.allow" },
	[DENY_CLASS] = { "class",
	    "network_denied: the class of the session does not allow %s" },
	[DENY_UNKNOWN_ADDRESS] = { "unknown_address",
	    "network_denied: no name was resolved to this address" },
	[DENY_PRIVATE_ADDRESS] = { "private_address",
	    "network_denied: %s has no public address" },
	[DENY_SERVER_NAME] = { "server_name",
	    "network_denied: the TLS server name is not %s" },
	[DENY_HOST_HEADER] = { "host_header",
	    "network_denied: the request is not for %s" },
	[DENY_PROTOCOL] = { "protocol",
	    "network_denied: ports 80 and 443 of %s are for HTTP and TLS" },
	[DENY_TOO_MANY] = { "too_many_connections",
	    "network_denied: the session has too many connections" },
	[DENY_TOO_MANY_NAMES] = { "too_many_names",
	    "network_denied: the session has resolved too many names" },
	[DENY_EXCEEDED] = { "network_exceeded",
	    "network_exceeded: the session has made network.maxRequests requests",
	    429 },
	[DENY_NOT_COUNTED] = { "not_counted",
	    "network_denied: requests cannot be counted now; try again" },
	[DENY_POLICY_CHANGED] = { "policy_changed",
	    "network_denied: %s is no longer in network.allow" },
	[DENY_BAD_REQUEST] = { "bad_request",
	    "network_denied: the request is malformed or ambiguous", 400 },
	[DENY_TOO_LARGE] = { "too_large",
	    "network_denied: the headers of the request are too large", 431 },
	[DENY_PROXY_REQUEST] = { "proxy_request",
	    "network_denied: this is a proxy: send the whole URL, and CONNECT for https",
	    400 },
	[DENY_TRACE] = { "trace",
	    "network_denied: the response to TRACE would show secrets for %s" },
	[DENY_BAD_NAME] = { "bad_name",
	    "network_denied: this is not a name of a host" },
	[DENY_PACKET] = { "packet",
	    "network_denied: only TCP to allowed hosts leaves the sandbox" },
	[DENY_URGENT] = { "urgent",
	    "network_denied: urgent data of TCP is not passed on" },
	[DENY_PORT_TAKEN] = { "port_taken",
	    "network_denied: a program in the sandbox has this port" },
};

void
denial_text(enum denial why, const char *host, char out[SERVE_TEXT_MAX])
{
	const char *text = DENIALS[why].text;
	const char *mark = strstr(text, "%s");

	if (mark == NULL)
		snprintf(out, SERVE_TEXT_MAX, "%s", text);
	else
		snprintf(out, SERVE_TEXT_MAX, "%.*s%s%s", (int)(mark - text),
		    text, host[0] != '\0' ? host : "the host", mark + 2);
}

void
failure_text(const char *host, const char *why, char out[SERVE_TEXT_MAX])
{
	snprintf(out, SERVE_TEXT_MAX, "network_failed: %s: %s", host, why);
}

const char *
failure_to_resolve(enum resolve_status status)
{
	static const char *const WHY[] = {
		[RESOLVE_OK] = "",
		[RESOLVE_NO_NAME] = "there is no such name",
		[RESOLVE_FAILED] = "no DNS server has an answer",
		[RESOLVE_BUSY] = "too many names are being resolved; try again",
	};

	return WHY[status];
}

int
denial_status(enum denial why)
{
	return DENIALS[why].status != 0 ? DENIALS[why].status : FORBIDDEN;
}

/* Whether the session may have another event now; a few come with time. */
static bool
may_tell(struct session *s)
{
	int64_t now = clock_ms();
	int64_t more = (now - s->tell_at_ms) / TELL_EACH_MS;

	if (more > 0) {
		s->tell_left += more;
		s->tell_at_ms += more * TELL_EACH_MS;
	}
	if (s->tell_left > TELL_BURST)
		s->tell_left = TELL_BURST;
	return s->tell_left > 0;
}

void
deny(struct session *s, enum denial why, const char *host, uint16_t port,
    const char *detail)
{
	json_t *msg;

	s->use.denied++;
	/* where rows is slow, what must be counted has the room that is left */
	if (!may_tell(s) || !tell_can(s->of)) {
		s->untold++;
		return;
	}
	msg = json_pack("{s:s, s:s, s:I, s:o, s:i, s:s, s:o*, s:I}", "op",
	    "denied", "session", s->id, "generation", (json_int_t)s->generation,
	    "host", json_lossy(host), "port", (int)port, "why",
	    DENIALS[why].word, "detail",
	    detail != NULL ? json_lossy(detail) : NULL, "untold",
	    (json_int_t)s->untold);
	if (!tell(s->of, msg)) {
		s->untold++;
		return;
	}
	s->tell_left--;
	s->untold = 0;
}
