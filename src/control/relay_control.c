/* relay_control.c: makes the relays of ports follow their rows. */
#include "control/relay_control.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/str.h"
#include "provider/link/link.h"

enum { RELAY_MS = 2000, FROZEN_MS = 50, ROUNDS = 4, PORT_TEXT_MAX = 24 };

/* One port as its row says, and where its relay is. */
struct relay {
	struct agent_target target;
	int64_t port, order;
	bool pending, cut, closing;
	bool stopped;   /* there is no wrapper, and no relay */
	bool listens;   /* its wrapper takes messages */
	bool suspended; /* ... and reads them after its thaw */
	bool here;      /* on this host */
};

static void
read_relay(const struct control *ctl, const struct rows *r, size_t i,
    struct relay *out)
{
	*out = (struct relay){ .target = row_target(r, i),
		.port = rows_int(r, i, "port"),
		.order = rows_int(r, i, "change_order"),
		.pending = rows_bool(r, i, "pending"),
		.cut = rows_bool(r, i, "cut"),
		.closing = rows_bool(r, i, "closing"),
		.stopped = rows_bool(r, i, "stopped"),
		.listens = rows_bool(r, i, "listens"),
		.suspended = rows_bool(r, i, "suspended"),
		.here =
		    str_equal(rows_text(r, i, "host"), ctl->conf->host_name) };
}

static int
read_port(struct control *ctl, const char *id, int64_t port, struct relay *out,
    bool *there, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char text[PORT_TEXT_MAX];

	snprintf(text, sizeof(text), "%" PRId64, port);
	if (STORE_RUN(ctl->store, STMT_SESSION_RELAYS, &r, e, id, text) < 0)
		return -1;
	*there = rows_count(r) > 0;
	if (*there)
		read_relay(ctl, r, 0, out);
	return 0;
}

/* The wrapper of that generation is gone, and its relays with it. */
static bool
has_ended(const struct err *e)
{
	return e->code == CODE_WRAPPER_UNAVAILABLE ||
	    e->code == CODE_STALE_GENERATION;
}

/* The relay has carried out a newer change, or is busy with another one. */
static bool
is_overtaken(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_STALE_ORDER, CODE_TRY_AGAIN);
}

/*
 * Act: sends the relay what the row says.  A cut has the number before the one
 * that opens the port again.  If it comes late, or once more after a crash, the
 * relay refuses it, and nothing is closed.
 */
static int
tell_relay(struct control *ctl, const struct relay *y, struct err *e)
{
	const struct provider *p = &ctl->provider;
	int64_t deadline_ms =
	    clock_ms() + (y->suspended ? FROZEN_MS : RELAY_MS);

	if (y->closing) {
		if (agent_unexpose(p, &y->target, y->port, y->order,
			deadline_ms, e) < 0)
			return has_ended(e) ? 0 : -1;
		return 0;
	}
	if (y->cut &&
	    agent_unexpose(p, &y->target, y->port, y->order - 1, deadline_ms,
		e) < 0 &&
	    !is_overtaken(e))
		return -1;
	CRASH_POINT("relay.cut");
	return agent_expose(p, &y->target, y->port, y->order, deadline_ms, e);
}

/* Outcome.  *done: the row still says what was sent to the relay. */
static int
write_settled(struct control *ctl, const struct relay *y, bool *done,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	char port[PORT_TEXT_MAX], order[PORT_TEXT_MAX];

	snprintf(port, sizeof(port), "%" PRId64, y->port);
	snprintf(order, sizeof(order), "%" PRId64, y->order);
	if (STORE_RUN(ctl->store, STMT_PORT_SETTLED, &r, e, y->target.session,
		port, order) < 0)
		return -1;
	*done = rows_bool(r, 0, "settled");
	CRASH_POINT("relay.settled");
	return 0;
}

/* Leaves the change pending in the row, for a later worker or the reaper. */
static int
leave_pending(const struct relay *y, bool *left)
{
	*left = y->pending;
	return 0;
}

/* One round of act and outcome.  1: the row has changed meanwhile. */
static int
settle_once(struct control *ctl, const struct relay *y, bool anyway, bool *left,
    struct err *e)
{
	bool done;

	*left = false;
	if (y->stopped && !y->closing)
		return 0; /* the next launch brings what the row says */
	if (!y->stopped) {
		if (!y->listens || !y->here)
			return leave_pending(y, left);
		if (!y->pending && !anyway &&
		    agent_exposes(&ctl->provider, &y->target, y->port, false))
			return 0;
		if (tell_relay(ctl, y, e) < 0) {
			if (is_overtaken(e))
				return 1;
			/* the wrapper reads the message after its thaw */
			if (y->suspended && e->code == CODE_TIMED_OUT)
				return leave_pending(y, left);
			return -1;
		}
		CRASH_POINT("relay.told");
	}
	if (write_settled(ctl, y, &done, e) < 0)
		return -1;
	return done ? 0 : 1;
}

/*
 * Settles a port in rounds.  Another worker may change the row at the same time
 * and send its change, too; which message comes last is not known.  So the row
 * is read again, and the relay gets what it says now.
 */
static int
settle_in_rounds(struct control *ctl, struct relay *y, bool anyway, bool *left,
    struct err *e)
{
	int64_t port = y->port;
	bool there = true;

	for (int i = 0; i < ROUNDS; i++) {
		struct err why = { 0 };
		int rc = settle_once(ctl, y, anyway || i > 0, left, &why);

		if (rc < 0)
			*e = why;
		if (rc <= 0)
			return rc;
		if (read_port(ctl, y->target.session, port, y, &there, e) < 0)
			return -1;
		if (!there)
			return 0;
	}
	return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
	    "other requests change port %" PRId64
	    " at the same time; try again",
	    port);
}

int
relay_settle_port(struct control *ctl, const char *id, int64_t port, bool *left,
    struct err *e)
{
	struct relay y;
	bool there;

	*left = false;
	if (read_port(ctl, id, port, &y, &there, e) < 0)
		return -1;
	return there ? settle_in_rounds(ctl, &y, false, left, e) : 0;
}

int
relay_repair(struct control *ctl, const char *id, int64_t port, struct err *e)
{
	struct relay y;
	bool there, left;

	if (read_port(ctl, id, port, &y, &there, e) < 0)
		return -1;
	/* a relay with a full backlog is alive: a new socket would drop it */
	if (!there ||
	    (!y.pending &&
		agent_exposes(&ctl->provider, &y.target, port, true)))
		return 0;
	return settle_in_rounds(ctl, &y, true, &left, e);
}

/* Best effort: what fails stays pending. */
void
relay_settle_session(struct control *ctl, const char *id, bool anyway)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(ctl->store, STMT_SESSION_RELAYS, &r, &e, id, "") < 0) {
		log_err(LOG_WARN, "relays", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r); i++) {
		struct relay y;
		bool left;

		read_relay(ctl, r, i, &y);
		if (settle_in_rounds(ctl, &y, anyway, &left, &e) < 0) {
			/* each further port would cost as much time */
			log_err(LOG_WARN, "relay", &e);
			return;
		}
	}
}

int
relay_settle_row(struct control *ctl, const struct rows *r, size_t i,
    struct err *e)
{
	char port[PORT_TEXT_MAX], order[PORT_TEXT_MAX];
	struct err ignored = { 0 };
	struct relay y;
	bool left;

	read_relay(ctl, r, i, &y);
	snprintf(port, sizeof(port), "%" PRId64, y.port);
	snprintf(order, sizeof(order), "%" PRId64, y.order);
	if (settle_in_rounds(ctl, &y, true, &left, e) == 0)
		return 0;
	/* note the try: other ports come first the next time */
	if (STORE_RUN(ctl->store, STMT_PORT_TRIED, NULL, &ignored,
		y.target.session, port, order) < 0)
		log_err(LOG_WARN, "relay", &ignored);
	return err_wrap(e, "session %s, port %s", y.target.session, port);
}

void
relay_cut(struct control *ctl, const struct rows *r, size_t i)
{
	struct err e = { 0 };
	struct relay y;

	read_relay(ctl, r, i, &y);
	if (y.here && tell_relay(ctl, &y, &e) < 0)
		log_err(LOG_WARN, "cut", &e);
}
