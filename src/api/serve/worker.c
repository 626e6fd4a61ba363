/* worker.c: serves requests, one at a time, with one database connection. */
#include "api/serve/worker.h"

#include <stdlib.h>

#include "api/child.h"
#include "api/gate/audit.h"
#include "api/gate/auth_cache.h"
#include "api/gate/first_work.h"
#include "api/org_share.h"
#include "api/route/dispatch.h"
#include "api/serve/rehearse.h"
#include "api/serve/warm.h"
#include "common/log.h"
#include "web/server.h"

static const struct store_options POOL_OPTIONS[POOL__MAX] = {
	[POOL_API] = { "sandlease-api", 5000 },
	[POOL_READ] = { "sandlease-read", 5000 },
	[POOL_AUTH] = { "sandlease-auth", 1000 },
};

/* The cache of a worker of the pool `auth`, which only reads the page. */
static struct auth_cache *
make_cache(const struct conf *conf, struct revocations *r)
{
	if (conf->auth_cache_entries == 0)
		return NULL;
	return auth_cache_new((size_t)conf->auth_cache_entries, r);
}

int
worker_run(const struct conf *conf, enum pool pool, int listen_fd,
    struct org_share *share, struct revocations *r, size_t number)
{
	struct app app = { .conf = conf,
		.pool = pool,
		.share = share,
		.worker = number };
	const volatile sig_atomic_t *stopping = child_signals();
	struct server *server;
	struct err e = { 0 };

	if (server_init(&e) < 0) {
		log_err(LOG_ERROR, "worker", &e);
		return EXIT_FAILURE;
	}
	app.store = store_new(conf->database, &POOL_OPTIONS[pool]);
	store_limits(app.store, conf);
	if (pool == POOL_AUTH)
		app.cache = make_cache(conf, r);
	rehearse(&app);
	server = server_new(listen_fd);
	while (!*stopping) {
		struct call c;

		if (server_accept(server, &c) < 0)
			continue;
		c.context = &app;
		dispatch(&c);
		server_finish(server, &c);
		if (app.ctl.pool_asked)
			warm_tell();
		app.ctl.pool_asked = false;
		audit_flush(&app);
		first_work_flush(&app);
	}
	server_free(server);
	control_forget_started(&app.ctl);
	auth_cache_free(app.cache);
	store_free(app.store);
	return EXIT_SUCCESS;
}

int
worker_cgi(const struct conf *conf)
{
	struct app app = { .conf = conf,
		.pool = POOL_API,
		.share = org_share_new(1) };
	struct call c;

	app.store = store_new(conf->database, &POOL_OPTIONS[POOL_API]);
	store_limits(app.store, conf);
	server_cgi(&c);
	c.context = &app;
	dispatch(&c);
	call_flush(&c);
	call_release(&c);
	audit_flush(&app);
	first_work_flush(&app);
	store_free(app.store);
	return EXIT_SUCCESS;
}
