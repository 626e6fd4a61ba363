/* reports.c: writes what the serving process says. */
#include "common/channel.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/process.h"

enum { UNWRITTEN_MAX = 100000 }; /* some hours without the database */

/* Counts that cannot be written now are written with the next ones. */
static int
do_use(struct rows_process *p, const json_t *msg, struct err *e)
{
	auto_free char *text = NULL;

	if (json_array_size(p->unwritten) < UNWRITTEN_MAX)
		json_array_extend(p->unwritten,
		    json_object_get(msg, "sessions"));
	text = json_text(p->unwritten);
	if (STORE_RUN(p->store, STMT_EGRESS_USE, NULL, e, text) < 0)
		return -1;
	return json_array_clear(p->unwritten);
}

static int
do_denied(struct rows_process *p, const json_t *msg, struct err *e)
{
	auto_json json_t *detail = json_copy((json_t *)(uintptr_t)msg);
	auto_free char *text = NULL;

	json_object_del(detail, "op");
	json_object_del(detail, "session");
	text = json_text(detail);
	return STORE_RUN(p->store, STMT_EGRESS_DENIED, NULL, e,
	    json_str(msg, "session"), text);
}

static int
do_reserve(struct rows_process *p, const json_t *msg, struct err *e)
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
do_serves(struct rows_process *p, const json_t *msg, struct err *e)
{
	auto_free char *ports = json_text(json_object_get(msg, "ports"));

	return STORE_RUN(p->store, STMT_EGRESS_SERVES, NULL, e,
	    json_str(msg, "session"), ports);
}

static int
do_gone(struct rows_process *p, const json_t *msg, struct err *e)
{
	const char *session = json_str(msg, "session");

	attached_drop(p, session,
	    json_integer_value(json_object_get(msg, "generation")));
	if (attached_find(p, session) != NULL)
		return 0; /* a later generation is served */
	return STORE_RUN(p->store, STMT_EGRESS_SERVES, NULL, e, session, NULL);
}

static const struct {
	const char *op;
	int (*run)(struct rows_process *p, const json_t *msg, struct err *e);
} OPS[] = {
	{ "use", do_use },
	{ "denied", do_denied },
	{ "reserve", do_reserve },
	{ "serves", do_serves },
	{ "gone", do_gone },
};

void
reports_take(struct rows_process *p, const json_t *msg)
{
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
		if (str_equal(json_str(msg, "op"), OPS[i].op) &&
		    OPS[i].run(p, msg, &e) < 0)
			log_err(LOG_WARN, OPS[i].op, &e);
}
