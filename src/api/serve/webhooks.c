/* webhooks.c: the process that sends webhooks. */
#include "api/serve/webhooks.h"

#include "api/serve/follow.h"
#include "common/clock.h"
#include "store/listen.h"
#include "webhook/sender.h"

/*
 * A transaction that writes a delivery notifies this process.  No notification
 * comes when a pause before another attempt is over, or the claim of a sender
 * that died, so the process also looks every LOOK_MS.
 */
enum {
	LOOK_MS = 2000,
	LAST_MS = 2000 /* for answers, after SIGTERM */
};

static void
note_told(void *ctx, const char *text)
{
	bool *told = ctx;

	(void)text;
	*told = true;
}

/* A notification that came during a statement is not seen by a wait. */
static int
send_due(struct store *store, struct sender *s, struct err *e)
{
	bool told = true;

	while (told) {
		told = false;
		if (sender_claim(s, 0, SENDER_TIMEOUT_MS, e) < 0 ||
		    listen_take(store, note_told, &told, e) < 0)
			return -1;
	}
	return sender_wait(s, listen_fd(store), LOOK_MS, e);
}

/* Listens before the first look, so that no notification is missed. */
static int
follow_webhooks(struct store *store, struct sender *s,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	int64_t end_ms;

	if (listen_begin(store, "sandlease_webhooks", e) < 0)
		return -1;
	while (!*stopping)
		if (send_due(store, s, e) < 0)
			return -1;
	end_ms = clock_ms() + LAST_MS;
	while (sender_is_busy(s) && clock_left_ms(end_ms) > 0)
		if (sender_wait(s, -1, clock_left_ms(end_ms), e) < 0)
			return -1;
	return 0;
}

static int
serve(const struct conf *conf, struct store *store,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	struct sender *s = NULL;
	int rc = sender_open(conf, store, &s, e);

	if (rc == 0)
		rc = follow_webhooks(store, s, stopping, e);
	sender_close(s);
	return rc;
}

int
webhooks_run(const struct conf *conf)
{
	static const struct follower FOLLOWER = { .process = "sandlease-hooks",
		.log = "webhooks",
		.store = { "sandlease-webhooks", 5000 },
		.follow = serve };

	return follow_run(conf, &FOLLOWER);
}
