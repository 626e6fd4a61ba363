/*
 * app.h: what a worker has in hand while it serves a call.
 */
#ifndef SANDLEASE_API_APP_H
#define SANDLEASE_API_APP_H

#include <stdbool.h>

#include "common/conf.h"
#include "control/control.h"
#include "store/store.h"
#include "web/call.h"

enum pool { POOL_API, POOL_READ, POOL_AUTH, POOL_STREAM, POOL__MAX };

struct route;     /* see web/router.h */
struct org_share; /* which org holds which worker; see share.h */

struct first_work { /* see first_work.h; no session: none */
	char session[ID_MAX], generation[24];
	char trace[CALL_TRACE_MAX];
	char by[CONTROL_ACTOR_MAX];
};

struct app {
	const struct conf *conf;
	enum pool pool;
	struct store *store;
	struct control ctl;
	bool ctl_open; /* opened with the first call that needs it */
	struct org_share *share;
	size_t worker;        /* this worker's place in the share */
	struct principal who; /* of the call at hand */
	int64_t hold_ms; /* the call at hand may wait no longer than this */
	/*
	 * The route table that the call at hand is looked up in.  A handler
	 * cannot name the table itself: the table names every handler.
	 */
	const struct route *routes;
	size_t route_count;
	char *note; /* owned; see audit.h */
	struct first_work first_work;
};

static inline struct app *
app_of(struct call *c)
{
	return c->context;
}

/*
 * The control plane, opened once per worker: the database may come up after
 * us.  NULL with e set when it cannot be.
 */
struct control *app_control(struct call *c, struct err *e);

/* When a call that would wait for `wait_ms` has to answer. */
int64_t app_deadline(struct call *c, int64_t wait_ms);

/*
 * Replaces what an error says of this host by a sentence for the caller.  The
 * log has the original.
 */
void app_hide_details(const struct call *c, struct err *e);

#endif
