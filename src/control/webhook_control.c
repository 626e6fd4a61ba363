/* webhook_control.c: makes and changes webhooks, and keeps their secrets. */
#include "control/webhook_control.h"

#include "common/address.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"
#include "domain/webhook.h"

/* Seals a new secret for the row. */
static json_t *
make_secret(struct control *ctl, const char *id,
    char secret[TOKEN_WEBHOOK_LEN + 1])
{
	auto_json json_t *o = NULL;

	token_make_webhook(secret);
	o = json_pack("{s:s}", "secret", secret);
	return control_seal(ctl, id, "webhook", o);
}

int
webhook_secret(struct control *ctl, const char *id, const char *sealed,
    char secret[TOKEN_WEBHOOK_LEN + 1], struct err *e)
{
	auto_json json_t *o = NULL;

	if (control_unseal(ctl, id, "webhook", sealed, &o, e) < 0)
		return -1;
	if (!str_copy(secret, TOKEN_WEBHOOK_LEN + 1, json_str(o, "secret")) ||
	    secret[0] == '\0')
		return err_set(e, ERR_INTERNAL, CODE_SEAL_BROKEN,
		    "the secret of webhook %s is broken", id);
	return 0;
}

/*
 * An address in the URL itself is checked now, because its owner can be told.
 * It is checked again, as every address that a name resolves to, when we
 * connect.
 */
static int
check_url(const struct control *ctl, const char *url, struct err *e)
{
	struct address_list exceptions;
	char host[NETWORK_HOST_MAX];
	struct address a;

	if (webhook_url_check(url, host, e) < 0 ||
	    address_list_parse(ctl->conf->webhook_allow_private, &exceptions,
		e) < 0)
		return -1;
	if (address_parse(host, &a) && !address_may_connect(&a, &exceptions))
		return err_field(e, "url", "must be a public address");
	return 0;
}

int
webhook_create(struct control *ctl, const char *tenant, const char *url,
    const json_t *events, char id[ID_MAX], char secret[TOKEN_WEBHOOK_LEN + 1],
    struct err *e)
{
	auto_free char *spec = NULL;

	if (check_url(ctl, url, e) < 0)
		return -1;
	id_random(id, ID_SESSION_LEN);
	spec = control_spec_text(
	    json_pack("{s:s, s:s, s:O, s:o, s:s*, s:s}", "id", id, "url", url,
		"events", events, "secret", make_secret(ctl, id, secret),
		"actor", control_actor(ctl), "trace", ctl->trace));
	return STORE_RUN(ctl->store, STMT_WEBHOOK_CREATE, NULL, e, tenant,
	    spec);
}

int
webhook_change(struct control *ctl, const char *tenant, const char *id,
    const struct webhook_change *c, char secret[TOKEN_WEBHOOK_LEN + 1],
    struct err *e)
{
	auto_free char *spec = NULL;
	json_t *body;

	secret[0] = '\0';
	if (c->url != NULL && check_url(ctl, c->url, e) < 0)
		return -1;
	body = json_pack("{s:s*, s:O*, s:s*, s:s}", "url", c->url, "events",
	    c->events, "actor", control_actor(ctl), "trace", ctl->trace);
	if (c->enabled >= 0)
		json_object_set_new(body, "enabled", json_boolean(c->enabled));
	if (c->rotate)
		json_object_set_new(body, "secret",
		    make_secret(ctl, id, secret));
	spec = control_spec_text(body);
	return STORE_RUN(ctl->store, STMT_WEBHOOK_PATCH, NULL, e, tenant, id,
	    spec);
}

int
webhook_delete(struct control *ctl, const char *tenant, const char *id,
    struct err *e)
{
	auto_free char *spec = control_spec_text(json_pack("{s:s*, s:s}",
	    "actor", control_actor(ctl), "trace", ctl->trace));

	return STORE_RUN(ctl->store, STMT_WEBHOOK_DELETE, NULL, e, tenant, id,
	    spec);
}
