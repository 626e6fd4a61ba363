/* webhooks.c: sends webhooks that nobody has sent, and forgets old ones. */
#include "reaper/webhooks.h"

#include "common/clock.h"
#include "webhook/sender.h"

/*
 * A sender of sandlease-api takes what is due within two seconds; what is
 * LATE_SECONDS old has been left by all of them.
 */
enum {
	PART_MS = 5000,
	END_MS = 500,  /* for the statements at the end */
	NOTE_MS = 250, /* a request that is late ends before we go */
	LEAST_MS = 1000,
	LATE_SECONDS = 15,
	FORGET_DAYS = 7,
	FORGET_BATCH = 1000
};

static void
forget_old(struct pass *p)
{
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_WEBHOOK_FORGET, NULL, &e,
		pass_number(FORGET_DAYS).text,
		pass_number(FORGET_BATCH).text) < 0)
		pass_failed(p, "webhooks", &e);
}

/* Claims once: a server that does not answer is not asked twice in a pass. */
static int
send_late(struct sender *s, int64_t end_ms, struct err *e)
{
	if (sender_claim(s, LATE_SECONDS, clock_left_ms(end_ms) - NOTE_MS, e) <
	    0)
		return -1;
	while (sender_is_busy(s) && clock_left_ms(end_ms) > 0)
		if (sender_wait(s, -1, clock_left_ms(end_ms), e) < 0)
			return -1;
	return 0;
}

void
webhooks_send(struct pass *p)
{
	int64_t end_ms = clock_ms() + PART_MS;
	struct sender *s = NULL;
	struct err e = { 0 };

	if (p->dry_run)
		return;
	forget_old(p);
	if (end_ms > p->deadline_ms - END_MS)
		end_ms = p->deadline_ms - END_MS;
	if (clock_left_ms(end_ms) < LEAST_MS)
		return;
	if (sender_open(p->ctl->conf, p->ctl->store, &s, &e) < 0 ||
	    send_late(s, end_ms, &e) < 0)
		pass_failed(p, "webhooks", &e);
	sender_close(s);
}
