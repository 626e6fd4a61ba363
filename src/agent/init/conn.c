/*
 * conn.c: answers init's control connections, also those that wait for a launch
 * or for the end of a cell.
 */
#include "agent/init/init.h"
#include "agent/init/markers.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { AGAIN_MS = 50 }; /* between two looks in init_look() */

void
init_conn_free(struct init_conn *c)
{
	mem_close_fd(&c->fd);
	c->wait = WAIT_NOTHING;
}

void
init_answer(struct init_conn *c, json_t *reply)
{
	struct err ignored;

	/* does not block: a client that does not read gets no answer */
	(void)!channel_send(c->fd, reply, NULL, 0, &ignored);
	init_conn_free(c);
}

void
init_refuse(struct init_conn *c, const struct err *e)
{
	auto_json json_t *reply = json_pack("{s:b, s:s, s:s}", "ok", 0, "code",
	    code_word(e->code), "message", e->msg);

	if (e->field[0] != '\0')
		json_object_set_new(reply, "message",
		    json_sprintf("%s: %s", e->field, e->msg));
	init_answer(c, reply);
}

void
init_look(struct init *in, struct init_conn *c)
{
	bool over = clock_left_ms(c->until) == 0;
	auto_json json_t *reply = NULL;
	json_t *wrappers;

	if (!over && clock_left_ms(c->again) > 0)
		return;
	wrappers = cells_wrappers(&in->cells, c->session);
	reply = json_pack("{s:b, s:o}", "ok", 1, "wrappers", wrappers);
	markers_append(c->session, wrappers);
	if (over || json_array_size(wrappers) == 0)
		init_answer(c, reply);
	else /* init gets no SIGCHLD for processes outside a cell: poll */
		c->again = clock_ms() + AGAIN_MS;
}

/* ---- connections that wait */

static struct init_conn *
next_waiting(struct init *in, enum conn_wait what, const char *session,
    size_t *at)
{
	while (*at < INIT_CONNS_MAX) {
		struct init_conn *c = &in->conns[(*at)++];

		if (c->wait == what && str_equal(c->session, session))
			return c;
	}
	return NULL;
}

void
init_launched(struct init *in, const struct cell *cell)
{
	struct init_conn *c;
	size_t at = 0;

	while (
	    (c = next_waiting(in, WAIT_SERVING, cell->session, &at)) != NULL) {
		auto_json json_t *reply = json_pack("{s:b, s:s, s:I, s:s, s:s}",
		    "ok", 1, "instance", cell->instance, "generation",
		    (json_int_t)cell->generation, "cell", "namespace",
		    "version", PACKAGE_VERSION);

		init_answer(c, reply);
	}
}

void
init_launch_failed(struct init *in, const char *session, const struct err *e)
{
	struct init_conn *c;
	size_t at = 0;

	log_line(LOG_WARN, "launch_failed", "%s: %s", session, e->msg);
	while ((c = next_waiting(in, WAIT_SERVING, session, &at)) != NULL)
		init_refuse(c, e);
}

void
init_cell_ended(struct init *in, const char *session)
{
	struct init_conn *c;
	size_t at = 0;

	while ((c = next_waiting(in, WAIT_GONE, session, &at)) != NULL) {
		c->again = 0;
		init_look(in, c);
	}
}
