/*
 * webhook.h: decides which addresses and events a webhook may name.
 *
 * The URL is accepted in one plain form, so that no two parsers read it
 * differently.  Which addresses its host may have is decided where we connect
 * (src/common/address.h): a name may resolve to another one each time.
 */
#ifndef SANDLEASE_DOMAIN_WEBHOOK_H
#define SANDLEASE_DOMAIN_WEBHOOK_H

#include "common/err.h"
#include "common/json.h"
#include "domain/network.h"

enum { WEBHOOK_URL_MAX = 2048 + 1, WEBHOOK_EVENTS_MAX = 16 };

/*
 * The events, NULL at the end.  sql/functions/webhook.sql writes them; "test"
 * is sent without being asked for.
 */
extern const char *const WEBHOOK_EVENTS[];

/*
 * Checks a URL: http or https, a name or address, perhaps a port, a path and a
 * query, all of printable ASCII; no user, no fragment.  `host` gets the host in
 * the form of network_host().  The error names the field "url".
 */
int webhook_url_check(const char *url, char host[NETWORK_HOST_MAX],
    struct err *e) MUST_CHECK;

/* Checks a list of events.  The error names the field "events". */
int webhook_events_check(const json_t *events, struct err *e) MUST_CHECK;

/* A list of all events; the caller owns it. */
json_t *webhook_events_all(void);

#endif
