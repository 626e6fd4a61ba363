/* webhooks.c: serves the routes of webhooks. */
#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"
#include "api/v1/session_body.h"
#include "common/mem.h"
#include "control/webhook_control.h"
#include "domain/webhook.h"

struct webhook_body {
	char url[WEBHOOK_URL_MAX];
	const json_t *events;
	int enabled;
	int rotate;
};

/* clang-format off */
const struct jfield WEBHOOK_FIELDS[] = {
	JFIELD("url", struct webhook_body, url, J_STR, J_REQUIRED, 1, WEBHOOK_URL_MAX - 1, "where to send events: http or https"),
	JFIELD("events", struct webhook_body, events, J_ARR, J_OF_STRINGS, 1, WEBHOOK_EVENTS_MAX, "execution.finished, session.failed; all without it"),
};
const size_t WEBHOOK_FIELD_COUNT = ARRAY_LEN(WEBHOOK_FIELDS);
const struct jfield WEBHOOK_PATCH_FIELDS[] = {
	JFIELD("url", struct webhook_body, url, J_STR, 0, 1, WEBHOOK_URL_MAX - 1, "where to send events from now on"),
	JFIELD("events", struct webhook_body, events, J_ARR, J_OF_STRINGS, 1, WEBHOOK_EVENTS_MAX, "in place of those that it has"),
	JFIELD("enabled", struct webhook_body, enabled, J_BOOL, 0, 0, 0, "false: send nothing; what waits is given up"),
	JFIELD("rotateSecret", struct webhook_body, rotate, J_BOOL, 0, 0, 0, "true: make a new secret, which the answer has"),
};
const size_t WEBHOOK_PATCH_FIELD_COUNT = ARRAY_LEN(WEBHOOK_PATCH_FIELDS);
/* clang-format on */

static const char *
tenant_of(struct call *c)
{
	return app_of(c)->who.tenant;
}

static int
not_found(struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_WEBHOOK_NOT_FOUND,
	    "there is no such webhook");
}

/* Answers with a webhook, and with its secret unless that is "". */
static int
reply_webhook(struct call *c, int status, const char *id, const char *secret,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *reply = NULL;

	if (!id_is_session(id))
		return not_found(e);
	if (STORE_RUN(app_of(c)->store, STMT_WEBHOOK_LIST, &r, e, tenant_of(c),
		id) < 0)
		return -1;
	if (rows_count(r) == 0)
		return not_found(e);
	if (rows_json(r, 0, "json", &reply, e) < 0)
		return -1;
	if (secret[0] != '\0')
		json_object_set_new(reply, "secret", json_string(secret));
	call_reply(c, status, reply);
	return 0;
}

static int
reply_delivery(struct call *c, int status, const char *delivery, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_WEBHOOK_DELIVERIES, &r, e,
		tenant_of(c), call_var(c, "webhook"), delivery, "", "",
		"1") < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_DELIVERY_NOT_FOUND,
		    "there is no such delivery");
	return reply_row(c, status, r, e);
}

int
v1_webhook_list(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_WEBHOOK_LIST, &r, e, tenant_of(c),
		"") < 0)
		return -1;
	return reply_rows(c, "webhooks", r, e);
}

int
v1_webhook_get(struct call *c, struct err *e)
{
	return reply_webhook(c, 200, call_var(c, "webhook"), "", e);
}

int
v1_webhook_create(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL, *all = webhook_events_all();
	auto_free struct webhook_body *b = xcalloc(1, sizeof(*b));
	char id[ID_MAX], secret[TOKEN_WEBHOOK_LEN + 1];
	int rc;

	b->events = all;
	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, WEBHOOK_FIELDS, WEBHOOK_FIELD_COUNT, 0, b, e) <
		0 ||
	    webhook_events_check(b->events, e) < 0 ||
	    webhook_create(ctl, tenant_of(c), b->url, b->events, id, secret,
		e) < 0)
		return -1;
	rc = reply_webhook(c, 201, id, secret, e);
	token_wipe(secret, sizeof(secret));
	return rc;
}

int
v1_webhook_patch(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "webhook");
	auto_json json_t *json = NULL;
	auto_free struct webhook_body *b = xcalloc(1, sizeof(*b));
	struct webhook_change change;
	char secret[TOKEN_WEBHOOK_LEN + 1];
	int rc;

	b->enabled = -1;
	if (!id_is_session(id))
		return not_found(e);
	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, WEBHOOK_PATCH_FIELDS, WEBHOOK_PATCH_FIELD_COUNT,
		0, b, e) < 0 ||
	    webhook_events_check(b->events, e) < 0)
		return -1;
	change =
	    (struct webhook_change){ .url = b->url[0] != '\0' ? b->url : NULL,
		    .events = b->events,
		    .enabled = b->enabled,
		    .rotate = b->rotate == 1 };
	if (webhook_change(ctl, tenant_of(c), id, &change, secret, e) < 0)
		return -1;
	rc = reply_webhook(c, 200, id, secret, e);
	token_wipe(secret, sizeof(secret));
	return rc;
}

int
v1_webhook_delete(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "webhook");

	if (!id_is_session(id))
		return not_found(e);
	if (ctl == NULL || webhook_delete(ctl, tenant_of(c), id, e) < 0)
		return -1;
	call_reply_empty(c, 204);
	return 0;
}

/* ---- deliveries */

int
v1_webhook_deliveries(struct call *c, struct err *e)
{
	const char *id = call_var(c, "webhook");
	auto_rows struct rows *known = NULL, *r = NULL;
	struct page p;

	if (page_read(c, &p, e) < 0)
		return -1;
	if (!id_is_session(id))
		return not_found(e);
	if (STORE_RUN(app_of(c)->store, STMT_WEBHOOK_LIST, &known, e,
		tenant_of(c), id) < 0)
		return -1;
	if (rows_count(known) == 0)
		return not_found(e);
	if (STORE_RUN(app_of(c)->store, STMT_WEBHOOK_DELIVERIES, &r, e,
		tenant_of(c), id, "", p.at, p.id, p.ask) < 0)
		return -1;
	return reply_page(c, "deliveries", &p, r, e);
}

int
v1_webhook_test(struct call *c, struct err *e)
{
	const char *id = call_var(c, "webhook");
	auto_rows struct rows *r = NULL;

	if (!id_is_session(id))
		return not_found(e);
	if (STORE_RUN(app_of(c)->store, STMT_WEBHOOK_TEST, &r, e, tenant_of(c),
		id) < 0)
		return -1;
	return reply_delivery(c, 202, rows_text(r, 0, "id"), e);
}

int
v1_webhook_redeliver(struct call *c, struct err *e)
{
	const char *id = call_var(c, "webhook"),
		   *delivery = call_var(c, "delivery");

	if (!id_is_session(id))
		return not_found(e);
	/* one that is not there is told by the answer */
	if (id_is_session(delivery) &&
	    STORE_RUN(app_of(c)->store, STMT_WEBHOOK_REDELIVER, NULL, e,
		tenant_of(c), id, delivery) < 0)
		return -1;
	return reply_delivery(c, 202, delivery, e);
}
