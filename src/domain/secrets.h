/*
 * secrets.h: checks the list of headers that are added to a session's requests.
 *
 * [{"host", "header", "value"}]: sandlease-egress adds the header to requests
 * for that host, so the code in the sandbox never sees the value.  Values are
 * sealed in the database and are in no error text.
 */
#ifndef SANDLEASE_DOMAIN_SECRETS_H
#define SANDLEASE_DOMAIN_SECRETS_H

#include "common/err.h"
#include "common/json.h"

enum {
	SECRETS_MAX = 20,
	SECRET_HEADER_MAX = 129, /* including the NUL */
	SECRET_VALUE_MAX = 8193
};

/*
 * Checks the list of a body.  The error names the member below `field`, such as
 * "secrets[2].header".  `named` (may be NULL) gets the same list with its hosts
 * in the form of network_host().  The caller owns it; it has the values.
 */
int secrets_check(const json_t *body, const char *field, json_t **named,
    struct err *e) MUST_CHECK;

/* The same list without values: [{"host", "header"}].  The caller owns it. */
json_t *secrets_names(const json_t *secrets);

#endif
