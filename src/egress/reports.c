/* reports.c: writes what the serving process says. */
#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/process.h"
#include "store/listen.h"

enum {
	LATER_TRIES = 3,  /* that may fail before the others get a turn */
	LATER_PASS = 100, /* messages in a row: workers wait meanwhile */
	PASS_MS = 10,
	COUNTS_MAX = 100000 /* some hours without the database */
};

/* ---- counts */

/* Those of an attempt whose end nobody knows are sent again as they were. */
static int
write_counts(struct rows_process *p, struct err *e)
{
	while (
	    json_array_size(p->writing) > 0 || json_array_size(p->counts) > 0) {
		auto_free char *text = NULL;

		if (json_array_size(p->writing) == 0) {
			json_t *empty = p->writing;

			p->writing = p->counts;
			p->counts = empty;
			id_random(p->writing_id, ID_REQUEST_LEN);
		}
		text = json_text(p->writing);
		if (STORE_RUN(p->store, STMT_EGRESS_USE, NULL, e, text,
			p->conf->host_name, p->writing_id) < 0) {
			later_set(p);
			return -1;
		}
		json_array_clear(p->writing);
	}
	return 0;
}

static int
do_use(struct rows_process *p, json_t *msg, struct err *e)
{
	if (json_array_size(p->counts) < COUNTS_MAX)
		json_array_extend(p->counts, json_object_get(msg, "sessions"));
	return write_counts(p, e);
}

/* ---- the other messages */

static int
do_denied(struct rows_process *p, json_t *msg, struct err *e)
{
	auto_json json_t *detail = json_copy(msg);
	auto_free char *text = NULL;

	json_object_del(detail, "op");
	json_object_del(detail, "session");
	text = json_text(detail);
	return STORE_RUN(p->store, STMT_EGRESS_DENIED, NULL, e,
	    json_str(msg, "session"), text);
}

static int
do_reserve(struct rows_process *p, json_t *msg, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct err why = { 0 };
	bool asked = STORE_RUN(p->store, STMT_EGRESS_RESERVE, &r, &why,
			 json_str(msg, "session")) == 0;
	auto_json json_t *reply =
	    json_pack("{s:s, s:s, s:O, s:s}", "op", "counted", "session",
		json_str(msg, "session"), "conn", json_object_get(msg, "conn"),
		"outcome", asked ? rows_text(r, 0, "outcome") : "unknown");

	if (!asked)
		log_err(LOG_WARN, "reserve", &why);
	return channel_send(p->serve_fd, reply, NULL, 0, e);
}

static int
do_serves(struct rows_process *p, json_t *msg, struct err *e)
{
	auto_free char *ports = json_text(json_object_get(msg, "ports"));

	return STORE_RUN(p->store, STMT_EGRESS_SERVES, NULL, e,
	    json_str(msg, "session"), ports);
}

static int
do_gone(struct rows_process *p, json_t *msg, struct err *e)
{
	const char *session = json_str(msg, "session");

	attached_drop(p, session,
	    json_integer_value(json_object_get(msg, "generation")));
	if (attached_find(p, session) != NULL)
		return 0; /* a later generation is served */
	return STORE_RUN(p->store, STMT_EGRESS_SERVES, NULL, e, session, NULL);
}

/* Serve did not hear of a session, and does not know of which one. */
static int
do_missed(struct rows_process *p, json_t *msg, struct err *e)
{
	(void)msg;
	(void)e;
	attached_forget(p);
	later_follow(p, "");
	return 0;
}

/* Init could not open the sockets of a session. */
static int
do_again(struct rows_process *p, json_t *msg, struct err *e)
{
	(void)e;
	later_follow(p, json_str(msg, "session"));
	return 0;
}

static int
do_follow(struct rows_process *p, json_t *msg, struct err *e)
{
	const char *session = json_str(msg, "session");

	if (session[0] != '\0')
		return follow(p, session, -1, e);
	follow_all(p);
	return 0;
}

static const struct op {
	const char *name;
	int (*run)(struct rows_process *p, json_t *msg, struct err *e);
	bool kept; /* tried again, in the order of its session */
} OPS[] = {
	{ "use", do_use, false },
	{ "denied", do_denied, true },
	{ "reserve", do_reserve, false },
	{ "serves", do_serves, true },
	{ "gone", do_gone, true },
	{ "missed", do_missed, false },
	{ "again", do_again, false },
	{ "follow", do_follow, true },
};

/* ---- now or later */

static bool
has_database(struct rows_process *p)
{
	return listen_fd(p->listener) >= 0;
}

/* False: it could not be written, and is kept. */
static bool
run(struct rows_process *p, const struct op *o, json_t *msg)
{
	struct err e = { 0 };

	if (o->run(p, msg, &e) == 0)
		return true;
	log_err(LOG_WARN, o->name, &e);
	if (!o->kept || e.kind != ERR_UNAVAILABLE)
		return true;
	later_add(p, msg);
	return false;
}

static const struct op *
find_op(const json_t *msg)
{
	for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
		if (str_equal(json_str(msg, "op"), OPS[i].name))
			return &OPS[i];
	return NULL;
}

void
reports_take(struct rows_process *p, json_t *msg)
{
	const struct op *o = find_op(msg);

	if (o == NULL)
		return;
	if (o->kept &&
	    (!has_database(p) || later_has(p->later, json_str(msg, "session"))))
		later_add(p, msg);
	else
		(void)run(p, o, msg);
}

/*
 * Tries again what was kept.  A session whose row is locked keeps its order,
 * and no other one waiting for long.
 */
static void
try_again(struct rows_process *p)
{
	auto_json json_t *list = p->later;
	struct err e = { 0 };
	int failed = 0, left = LATER_PASS;
	size_t i;
	json_t *v;

	if (!has_database(p)) {
		later_set(p);
		json_incref(list);
		return;
	}
	p->later = json_array();
	if (write_counts(p, &e) < 0)
		log_err(LOG_WARN, "use", &e);
	json_array_foreach(list, i, v)
	{
		if (failed == LATER_TRIES || left == 0 ||
		    later_has(p->later, json_str(v, "session"))) {
			later_add(p, v);
			continue;
		}
		left--;
		if (!run(p, find_op(v), v))
			failed++;
	}
	if (left == 0) /* the rest need not wait for long */
		loop_set(&p->loop, &p->later_timer, clock_ms() + PASS_MS);
}

static void
on_later(struct loop_timer *t)
{
	try_again((struct rows_process *)(void *)((char *)t -
	    offsetof(struct rows_process, later_timer)));
}

void
reports_open(struct rows_process *p)
{
	p->later = json_array();
	p->counts = json_array();
	p->writing = json_array();
	p->later_timer.fire = on_later;
}

void
reports_close(struct rows_process *p)
{
	size_t before;

	do { /* as long as that helps */
		before = json_array_size(p->later);
		try_again(p);
	} while (json_array_size(p->later) > 0 &&
	    json_array_size(p->later) < before);
	loop_clear(&p->loop, &p->later_timer);
	if (json_array_size(p->later) > 0)
		log_line(LOG_WARN, "unwritten",
		    "%zu messages about networks could not be written",
		    json_array_size(p->later));
	json_decref(TAKE(p->later));
	json_decref(TAKE(p->counts));
	json_decref(TAKE(p->writing));
}
