/* waiter.c: waits for something to happen to a session. */
#include "control/waiter.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

int
waiter_begin(struct waiter *w, struct store *st, const char *session,
    const char *tenant, int64_t deadline_ms, struct err *e)
{
	auto_free char *channel = xasprintf("sandlease_%s", session);
	auto_rows struct rows *r = NULL;
	char seconds[WAITER_ID_MAX];

	*w = (struct waiter){ .store = st };
	snprintf(seconds, sizeof(seconds), "%d",
	    clock_left_ms(deadline_ms) / 1000 + 1);
	/* first the channel, then the row that makes writers notify it */
	if (listen_begin(st, channel, e) < 0 ||
	    STORE_RUN(st, STMT_EVENT_WAIT, &r, e, session, tenant, seconds) < 0)
		return -1;
	str_copy(w->id, sizeof(w->id), rows_text(r, 0, "id"));
	return 0;
}

void
waiter_end(struct waiter *w)
{
	struct err e = { 0 };

	if (w->store == NULL)
		return;
	listen_end(w->store);
	if (w->id[0] != '\0' &&
	    STORE_RUN(w->store, STMT_EVENT_WAIT_END, NULL, &e, w->id) < 0)
		log_err(LOG_WARN, "event_wait_end", &e);
}
