/* rehearse.c: has a worker's connection ready before its first request. */
#include "api/serve/rehearse.h"

#include "common/log.h"

/* No key, session or ticket has such an id: each statement finds nothing. */
static int
rehearse_auth_key(struct app *app, struct err *e)
{
	return STORE_RUN(app->store, STMT_AUTH_KEY, NULL, e, "", "key", "");
}

static int
rehearse_api(struct app *app, struct err *e)
{
	if (rehearse_auth_key(app, e) < 0 ||
	    STORE_RUN(app->store, STMT_REHEARSE_START, NULL, e) < 0 ||
	    app_open_control(app, e) < 0)
		return -1;
	return control_ready(&app->ctl, e);
}

static int
rehearse_read(struct app *app, struct err *e)
{
	if (rehearse_auth_key(app, e) < 0)
		return -1;
	return STORE_RUN(app->store, STMT_SESSION_GET, NULL, e, "", "");
}

static int
rehearse_auth(struct app *app, struct err *e)
{
	const char *host = app->conf->host_name;

	if (STORE_RUN(app->store, STMT_AUTH_SESSION, NULL, e, "", "key", "",
		"30", "t", "", "", "", "", "tenant", host) < 0 ||
	    STORE_RUN(app->store, STMT_AUTH_PREVIEW, NULL, e, "", "0", "", "30",
		"t", "", host) < 0)
		return -1;
	return STORE_RUN(app->store, STMT_SESSION_ACCEPTED, NULL, e, "", "0",
	    "", "");
}

void
rehearse(struct app *app)
{
	static int (*const REHEARSALS[POOL__MAX])(struct app * app,
	    struct err * e) = {
		[POOL_API] = rehearse_api,
		[POOL_READ] = rehearse_read,
		[POOL_AUTH] = rehearse_auth,
	};
	struct err e = { 0 };

	if (REHEARSALS[app->pool] != NULL && REHEARSALS[app->pool](app, &e) < 0)
		log_err(LOG_WARN, "rehearse", &e);
}
