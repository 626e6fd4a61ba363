/*
 * app.h: holds the state of a worker, and of the call that it serves.
 */
#ifndef SANDLEASE_API_APP_H
#define SANDLEASE_API_APP_H

#include <stdbool.h>

#include "common/conf.h"
#include "control/control.h"
#include "store/store.h"
#include "web/call.h"

enum pool { POOL_API, POOL_READ, POOL_AUTH, POOL_STREAM, POOL__MAX };

struct route;       /* see web/router.h */
struct org_share;   /* which org holds which worker; see org_share.h */
struct auth_cache;  /* see gate/auth_cache.h */
struct revocations; /* see gate/revocations.h */

struct first_work { /* see first_work.h; session "": nothing to write */
	char session[ID_MAX], generation[24];
	char trace[CALL_TRACE_MAX];
	char by[CONTROL_ACTOR_MAX];
};

struct app {
	const struct conf *conf;
	enum pool pool;
	struct store *store;
	struct control ctl;
	bool ctl_open; /* app_control() has opened ctl */
	struct org_share *share;
	size_t worker;            /* this worker's index in the share */
	struct auth_cache *cache; /* NULL: none in this pool, or switched off */
	struct principal who;     /* owner of the current call's key */
	int64_t hold_ms; /* the current call may wait no longer than this */
	/*
	 * The route table in which the current call is looked up.  A handler
	 * cannot include the table: the table includes every handler.
	 */
	const struct route *routes;
	size_t route_count;
	char *note; /* owned; a refusal to write down, see audit.h */
	struct first_work first_work;
};

static inline struct app *
app_of(struct call *c)
{
	return c->context;
}

/*
 * Opens the control plane, if it is not open yet.  The first call that needs it
 * does so, too, because the database may come up after the worker.
 */
int app_open_control(struct app *app, struct err *e) MUST_CHECK;

/* The control plane for this call.  NULL with e set if it cannot be opened. */
struct control *app_control(struct call *c, struct err *e);

/* The deadline (of clock_ms()) of a call that asks to wait for `wait_ms`. */
int64_t app_deadline(struct call *c, int64_t wait_ms);

/*
 * Replaces the message of an error that tells of this host by a sentence for
 * the client.  The log has the original.
 */
void app_hide_details(const struct call *c, struct err *e);

#endif
