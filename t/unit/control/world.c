/* world.c: runs control/ with a real database and the provider in memory. */
#include "world.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/start.h"
#include "provider/choose/choose.h"

static const char FRESH[] =
    "TRUNCATE sample, ticket, snapshot, session_label, sandbox_unused, warm, event, idempotency, sighting, alias, port, network_use, session, lease,"
    " sandbox, host;"
    "UPDATE installation SET draining = false;"
    "INSERT INTO org (id) VALUES ('acme') ON CONFLICT DO NOTHING;"
    "INSERT INTO api_key (id, tenant, org, user_id, scope, hash)"
    " VALUES ('k', 'acme', 'acme', 'u', 'tenant', 'h') ON CONFLICT DO NOTHING";

static void
must(int rc, const struct err *e)
{
	if (rc < 0)
		fail_msg("%s: %s", code_word(e->code), e->msg);
}

/* Removes the sockets of the last test's sessions. */
static void
remove_sockets(const struct conf *conf)
{
	struct agent_file *files = NULL;
	size_t n = 0;
	struct err e = { 0 };

	must(agent_sockets(conf, &files, &n, &e), &e);
	while (n > 0)
		agent_unlink_socket(conf, &files[--n]);
	free(files);
}

int
world_begin(void **state)
{
	static const struct store_options OPTIONS = { "world", 5000 };
	struct world *w = xcalloc(1, sizeof(*w));
	struct store *st;
	struct rows *r = NULL;
	struct err e = { 0 };

	must(conf_load(NULL, &w->conf, &e), &e);
	must(token_init(&e), &e);
	w->conf.discovery_seconds = 2; /* a hang costs two seconds, not ten */
	st = store_new(w->conf.database, &OPTIONS);
	w->ctl = (struct control){ .conf = &w->conf, .store = st };
	str_copy(w->ctl.trace, sizeof(w->ctl.trace), "trace");
	must(store_script(st, FRESH, &e), &e);
	must(seal_keys_load(w->conf.seal_key_file, &w->ctl.keys, &e), &e);
	must(STORE_RUN(st, STMT_INSTALLATION, &r, &e), &e);
	fake_reset();
	remove_sockets(&w->conf);
	must(provider_open_ops(&PROVIDER_FAKE, &w->conf, rows_text(r, 0, "id"),
		 &w->ctl.provider, &e),
	    &e);
	rows_free(&r);
	w->who = (struct principal){ .key_id = "k",
		.tenant = "acme",
		.org = "acme",
		.user = "u",
		.scope = "tenant" };
	*state = w;
	return 0;
}

int
world_end(void **state)
{
	struct world *w = *state;

	fake_reset();
	assert_string_equal(world_ask(w,
				"SELECT count(*) FROM pg_locks"
				" WHERE locktype = 'advisory'"),
	    "0");
	store_free(w->ctl.store);
	free(w);
	return 0;
}

static void
put_answer(struct world *w, const PGresult *r)
{
	size_t len = 0;

	w->text[0] = '\0';
	for (int i = 0; i < PQntuples(r); i++)
		for (int k = 0; k < PQnfields(r); k++) {
			int n = snprintf(w->text + len, sizeof(w->text) - len,
			    "%s%s",
			    k > 0       ? "|"
				: i > 0 ? " "
					: "",
			    PQgetvalue(r, i, k));

			assert_true(
			    n >= 0 && (size_t)n < sizeof(w->text) - len);
			len += (size_t)n;
		}
}

const char *
world_ask(struct world *w, const char *fmt, ...)
{
	PGconn *conn = PQconnectdb(w->conf.database);
	char sql[WORLD_TEXT_MAX];
	PGresult *r;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	r = PQexec(conn, sql);
	if (PQresultStatus(r) != PGRES_TUPLES_OK &&
	    PQresultStatus(r) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(conn));
	put_answer(w, r);
	PQclear(r);
	PQfinish(conn);
	return w->text;
}

const char *
world_state(struct world *w)
{
	return world_ask(w,
	    "SELECT concat_ws(' ', s.state, l.state, l.generation, b.state)"
	    " FROM session s JOIN lease l ON l.session_id = s.id"
	    " JOIN sandbox b ON b.id = s.sandbox_id WHERE s.id = '%s'",
	    w->id);
}

const char *
world_steps(struct world *w)
{
	return world_ask(w,
	    "SELECT what || coalesce(':' || (detail->>'how'), '')"
	    " || CASE WHEN reason IS NULL THEN '' ELSE '!' END"
	    " FROM event WHERE session_id = '%s' AND kind = 'step'"
	    " AND id > (SELECT max(id) FROM event WHERE session_id = '%s'"
	    " AND what IN ('allocate', 'reuse')) ORDER BY id",
	    w->id, w->id);
}

const char *
world_story(struct world *w)
{
	return world_ask(w,
	    "SELECT what FROM event WHERE session_id = '%s'"
	    " AND kind IN ('lease', 'state') ORDER BY id",
	    w->id);
}

const char *
world_stop_reason(struct world *w)
{
	return world_ask(w,
	    "SELECT detail->>'reason' FROM event WHERE session_id = '%s'"
	    " AND kind = 'lease' AND what = 'request_stop'",
	    w->id);
}

int
world_create(struct world *w, enum isolation how, struct err *e)
{
	char name[24];
	const struct session_options wish = {
		.name = name,
		.isolation = (int)how,
		.sleep_after_seconds = 600,
	};
	enum disposition d;
	int rc;

	/* a create without a name would be taken back when its start fails */
	snprintf(name, sizeof(name), "made-%d", ++w->made);
	rc = session_control_create(&w->ctl, &w->who, &wish,
	    clock_ms() + WORLD_WAIT_MS, w->id, &d, e);

	assert_int_equal(d, SESSION_CREATED);
	str_copy(w->box, sizeof(w->box),
	    world_ask(w, "SELECT sandbox_id FROM session WHERE id = '%s'",
		w->id));
	return rc;
}

void
world_ready(struct world *w, enum isolation how)
{
	struct err e = { 0 };

	must(world_create(w, how, &e), &e);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

int
world_resume(struct world *w, struct err *e)
{
	*e = (struct err){ 0 };
	return start_session(&w->ctl, w->id, "acme", clock_ms() + WORLD_WAIT_MS,
	    e);
}

void
world_make_due(struct world *w)
{
	world_ask(w,
	    "UPDATE lease SET next_attempt_at = 'epoch'"
	    " WHERE state = 'stop_needed'");
}

bool
world_has_socket(const struct world *w, int64_t generation)
{
	char path[WORLD_TEXT_MAX];

	agent_socket_path(&w->conf, w->id, generation, AGENT_PORT_DATA, path,
	    sizeof(path));
	return access(path, F_OK) == 0;
}

void
world_move(struct world *w)
{
	str_copy(w->conf.host_name, sizeof(w->conf.host_name), "elsewhere");
}

struct pass
world_reap(struct world *w)
{
	struct pass p = { .ctl = &w->ctl,
		.end_ms = clock_ms() + WORLD_WAIT_MS };

	parts_run(&p);
	return p;
}
