/* ports.c: finishes changes of ports and revocations whose worker did not. */
#include "reaper/ports.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/inventory.h"
#include "control/relay_control.h"
#include "control/session_control.h"
#include "control/stop.h"
#include "reaper/sighting.h"

enum { BATCH = 1000 };

static void
expire_ports(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (p->dry_run)
		return;
	if (STORE_RUN(p->ctl->store, STMT_PORTS_EXPIRE, &r, &e,
		pass_number(BATCH).text) < 0)
		pass_failed(p, "expired_ports", &e);
}

/*
 * Settles one batch, in the order of its rows.  A session that does not answer
 * is not asked about its other ports: each would cost as much time.
 */
static void
settle_rows(struct pass *p, const struct rows *r)
{
	const char *silent = "";

	p->scanned += (int64_t)rows_count(r);
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		const char *session = rows_text(r, i, "session_id");
		struct err e = { 0 };

		if (p->dry_run)
			printf("ports: %s %s\n", session,
			    rows_text(r, i, "port"));
		else if (!str_equal(session, silent) &&
		    relay_settle_row(p->ctl, r, i, &e) < 0) {
			pass_failed(p, "ports", &e);
			silent = session;
		}
	}
}

static void
settle_due(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_DUE_PORTS, &r, &e,
		p->ctl->conf->host_name, p->since, pass_number(BATCH).text) < 0)
		pass_failed(p, "ports", &e);
	else
		settle_rows(p, r);
}

/*
 * Makes relays again whose socket is missing.  The sockets are listed first,
 * then compared with the rows.
 */
static void
settle_lost(struct pass *p)
{
	auto_json json_t *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	json_t *names = json_array(), *socket;
	struct err e = { 0 };
	int rc = inventory_sockets(p->ctl, &seen, &e);
	size_t i;

	json_array_foreach(seen, i, socket)
	{
		json_array_append(names, json_object_get(socket, "name"));
	}
	text = control_spec_text(names);
	if (rc < 0 ||
	    STORE_RUN(p->ctl->store, STMT_LOST_RELAYS, &r, &e,
		p->ctl->conf->host_name, text, pass_number(BATCH).text) < 0)
		pass_failed(p, "ports", &e);
	else
		settle_rows(p, r);
}

void
ports_settle(struct pass *p)
{
	expire_ports(p);
	settle_due(p);
	if (pass_has_time(p))
		settle_lost(p);
}

/*
 * Stops a session that could not be told of a revoked key in two passes.  A
 * tenant can make its wrapper stand still, and the connections that the key has
 * opened would stay open.  The first silence is no failure of the pass.
 */
static int
stop_if_silent(struct pass *p, const char *session, const char *since,
    struct err *e)
{
	auto_free char *thing = NULL;
	bool before;

	if (!CODE_IS_ONE_OF(e->code, CODE_TIMED_OUT, CODE_WRAPPER_UNRESPONSIVE))
		return -1;
	log_err(LOG_INFO, "silent_wrapper", e);
	thing =
	    xasprintf("%srevocations/%s.%s", SIGHTING_SILENT, session, since);
	if (sighting_again(p, thing, &before, e) < 0)
		return -1;
	if (!before)
		return 0;
	return stop_request(p->ctl, session, STOP_SLEEP, "unhealthy-wrapper",
	    NULL, -1, e);
}

void
ports_bounce(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_DUE_BOUNCES, &r, &e,
		p->ctl->conf->host_name, pass_number(BATCH).text) < 0) {
		pass_failed(p, "revocations", &e);
		return;
	}
	p->scanned += (int64_t)rows_count(r);
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		const char *session = rows_text(r, i, "session_id");
		const char *since = rows_text(r, i, "bounce_at");

		if (p->dry_run)
			printf("revocations: %s\n", session);
		else if (session_control_bounced(p->ctl, session, since, &e) <
			0 &&
		    stop_if_silent(p, session, since, &e) < 0)
			pass_failed(p, "revocations", &e);
	}
}
