/* sender.c: sends the deliveries of webhooks that are due. */
#include "webhook/sender.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/webhook_control.h"
#include "webhook/posts.h"
#include "webhook/signature.h"

/*
 * The claim is longer than any attempt takes, the statements around it
 * included: while it holds no other process sends the delivery.
 */
enum { ROOM = 256, ORG_SHARE = 8, CLAIM_SECONDS = 60, NUMBER_MAX = 24 };

struct sender {
	struct control ctl; /* without a provider */
	struct posts *posts;
};

int
sender_open(const struct conf *conf, struct store *st, struct sender **out,
    struct err *e)
{
	struct address_list exceptions;
	struct sender *s = xcalloc(1, sizeof(*s));

	s->ctl.conf = conf;
	s->ctl.store = st;
	if (seal_keys_load(conf->seal_key_file, &s->ctl.keys, e) < 0 ||
	    address_list_parse(conf->webhook_allow_private, &exceptions, e) <
		0 ||
	    posts_open(&exceptions, &s->posts, e) < 0) {
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

bool
sender_is_busy(const struct sender *s)
{
	return posts_count(s->posts) > 0;
}

struct number {
	char text[NUMBER_MAX];
};

static struct number
number(int64_t n)
{
	struct number out;

	snprintf(out.text, sizeof(out.text), "%" PRId64, n);
	return out;
}

/* ---- outcome */

static int
record_end(struct sender *s, const struct post_end *end, struct err *e)
{
	const char *error = end->error;

	if (end->status >= 300 && end->status < 400)
		error = "redirects are not followed";
	CRASH_POINT("webhook.sent");
	return STORE_RUN(s->ctl.store, STMT_WEBHOOK_TOLD, NULL, e, end->id,
	    number(end->attempt).text,
	    end->status > 0 ? number(end->status).text : NULL, error);
}

void
sender_close(struct sender *s)
{
	struct err ignored = { 0 };
	struct post_end end;

	if (s == NULL)
		return;
	while (posts_take_open(s->posts, &end))
		if (STORE_RUN(s->ctl.store, STMT_WEBHOOK_RELEASE, NULL,
			&ignored, end.id, number(end.attempt).text) < 0)
			break; /* the claims end by themselves */
	posts_close(s->posts);
	token_wipe(&s->ctl.keys, sizeof(s->ctl.keys));
	free(s);
}

/* ---- act */

static int
post_signed(struct sender *s, const struct rows *r, size_t i,
    const char *secret, int64_t timeout_ms, struct err *e)
{
	const char *id = rows_text(r, i, "id"), *body = rows_text(r, i, "body");
	auto_free char *event =
	    xasprintf("Sandlease-Event: %s", rows_text(r, i, "event"));
	auto_free char *delivery = xasprintf("Sandlease-Delivery: %s", id);
	auto_free char *signature = NULL;
	char signed_by[SIGNATURE_MAX];

	signature_make(secret, (int64_t)time(NULL), body, signed_by);
	signature = xasprintf("Sandlease-Signature: %s", signed_by);
	return posts_begin(s->posts,
	    &(struct post){ .id = id,
		.attempt = rows_int(r, i, "attempt"),
		.url = rows_text(r, i, "url"),
		.body = body,
		.headers =
		    (const char *const[]){ "Content-Type: application/json",
			event, delivery, signature, NULL },
		.timeout_ms = timeout_ms },
	    e);
}

/*
 * Begins with one delivery.  A failure of ours is one of this attempt: its
 * tenant reads a sentence, the operator the log.
 */
static int
begin(struct sender *s, const struct rows *r, size_t i, int64_t timeout_ms,
    struct err *e)
{
	struct post_end end = { .attempt = rows_int(r, i, "attempt"),
		.error = "the service could not send it" };
	char secret[TOKEN_WEBHOOK_LEN + 1];
	struct err why = { 0 };
	int rc;

	rc = webhook_secret(&s->ctl, rows_text(r, i, "webhook_id"),
	    rows_text(r, i, "secret_sealed"), secret, &why);
	if (rc == 0)
		rc = post_signed(s, r, i, secret, timeout_ms, &why);
	token_wipe(secret, sizeof(secret));
	if (rc == 0)
		return 0;
	log_err(LOG_WARN, "webhook", &why);
	str_copy(end.id, sizeof(end.id), rows_text(r, i, "id"));
	return record_end(s, &end, e);
}

int
sender_claim(struct sender *s, int64_t late_seconds, int64_t timeout_ms,
    struct err *e)
{
	size_t busy = posts_count(s->posts);
	auto_rows struct rows *r = NULL;

	if (busy >= ROOM)
		return 0;
	if (STORE_RUN(s->ctl.store, STMT_WEBHOOK_CLAIM, &r, e,
		number((int64_t)(ROOM - busy)).text, number(ORG_SHARE).text,
		number(CLAIM_SECONDS).text, number(late_seconds).text) < 0)
		return -1;
	if (rows_count(r) > 0)
		CRASH_POINT("webhook.claimed");
	for (size_t i = 0; i < rows_count(r); i++)
		if (begin(s, r, i, timeout_ms, e) < 0)
			return -1;
	return 0;
}

int
sender_wait(struct sender *s, int fd, int64_t ms, struct err *e)
{
	struct post_end end;

	if (posts_wait(s->posts, fd, ms, e) < 0)
		return -1;
	while (posts_take_ended(s->posts, &end))
		if (record_end(s, &end, e) < 0)
			return -1;
	return 0;
}
