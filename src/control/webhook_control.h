/*
 * webhook_control.h: makes and changes webhooks, and keeps their secrets.
 *
 * A webhook's secret is made here and told once.  The row has it sealed, and
 * src/webhook/ opens it to sign a request.
 */
#ifndef SANDLEASE_CONTROL_WEBHOOK_CONTROL_H
#define SANDLEASE_CONTROL_WEBHOOK_CONTROL_H

#include "control/control.h"

/* A change; NULL and -1 mean that it stays as it is. */
struct webhook_change {
	const char *url;
	const json_t *events;
	int enabled;
	bool rotate; /* make a new secret */
};

/*
 * Makes a webhook; `id` and `secret` get its own.  Fails with a field's error if
 * the URL cannot be one, or is an address that nothing is sent to.
 */
int webhook_create(struct control *ctl, const char *tenant, const char *url,
    const json_t *events, char id[ID_MAX], char secret[TOKEN_WEBHOOK_LEN + 1],
    struct err *e) MUST_CHECK;

/* Changes a webhook; `secret` gets a new one, or "". */
int webhook_change(struct control *ctl, const char *tenant, const char *id,
    const struct webhook_change *c, char secret[TOKEN_WEBHOOK_LEN + 1],
    struct err *e) MUST_CHECK;

int webhook_delete(struct control *ctl, const char *tenant, const char *id,
    struct err *e) MUST_CHECK;

/* Opens the secret of a row. */
int webhook_secret(struct control *ctl, const char *id, const char *sealed,
    char secret[TOKEN_WEBHOOK_LEN + 1], struct err *e) MUST_CHECK;

#endif
