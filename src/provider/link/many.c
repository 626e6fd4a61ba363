/* many.c: sends the same request to several agents, then reads all replies. */
#include <unistd.h>

#include "common/mem.h"
#include "provider/link/wire.h"

enum { AT_ONCE = 64, WAIT_MAX_MS = 10000 };

static const char *const OP_NAMES[AGENT_OP__MAX] = {
	[AGENT_LOOK] = "look",
	[AGENT_SEAL] = "seal",
	[AGENT_TERM] = "term",
	[AGENT_KILL] = "kill",
	[AGENT_STATUS] = "status",
	[AGENT_USAGE] = "status",
};

static json_t *
ask_body(enum agent_op op, const struct agent_one *one, int wait_ms)
{
	json_t *body = agent_body(&one->target);

	if (op == AGENT_TERM && one->end.reason != NULL)
		json_object_update_new(body,
		    json_pack("{s:s, s:s, s:I}", "reason", one->end.reason,
			"cause", one->end.cause, "graceMs",
			(json_int_t)one->end.grace_ms));
	if (op == AGENT_USAGE)
		json_object_set_new(body, "cpu", json_true());
	else if (op != AGENT_STATUS && wait_ms > 0)
		json_object_set_new(body, "waitMs",
		    json_integer(
			wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS));
	return body;
}

static int
read_reply(enum agent_op op, int sock, int64_t deadline_ms,
    struct agent_one *one)
{
	auto_json json_t *reply = NULL;

	if (agent_ask_recv(sock, OP_NAMES[op], deadline_ms, &reply, &one->e) <
	    0)
		return -1;
	if (op == AGENT_TERM)
		return 0;
	if (op == AGENT_STATUS || op == AGENT_USAGE)
		return agent_status_read(reply, &one->status, &one->e);
	return agent_wrappers_read(reply, OP_NAMES[op], &one->found, &one->e);
}

static void
ask_batch(const struct provider *p, enum agent_op op, int wait_ms,
    int64_t deadline_ms, struct agent_one *const *who, size_t count)
{
	int sock[AT_ONCE];

	for (size_t i = 0; i < count; i++) {
		struct agent_one *one = who[i];
		struct agent_question q = { .op = OP_NAMES[op],
			.body = ask_body(op, one, wait_ms) };

		one->answered = false;
		one->e = (struct err){ 0 };
		if (op == AGENT_TERM || op == AGENT_KILL)
			agent_thaw_before_end(p, &one->target);
		sock[i] = agent_ask_send(p, one->target.sandbox,
		    one->target.incarnation, &q, &one->e);
	}
	for (size_t i = 0; i < count; i++) {
		if (sock[i] < 0)
			continue;
		who[i]->answered =
		    read_reply(op, sock[i], deadline_ms, who[i]) == 0;
		close(sock[i]);
	}
}

void
agent_ask_all(const struct provider *p, enum agent_op op, int wait_ms,
    int64_t deadline_ms, struct agent_one *const *who, size_t count)
{
	for (size_t i = 0; i < count; i += AT_ONCE)
		ask_batch(p, op, wait_ms, deadline_ms, who + i,
		    count - i < AT_ONCE ? count - i : AT_ONCE);
}

/* ---- the cells of sandboxes */

/* clang-format off */
static const struct jfield CELL[] = {
	JFIELD("session", struct agent_cell, session, J_STR, J_REQUIRED, ID_SESSION_LEN, ID_SESSION_LEN, "session id"),
	JFIELD("instance", struct agent_cell, instance, J_STR, J_REQUIRED, 0, ID_MAX - 1, "instance id"),
	JFIELD("generation", struct agent_cell, generation, J_INT, J_REQUIRED, 1, INT64_MAX, "of its wrapper"),
};
/* clang-format on */

/* Reads the list of cells; one entry that cannot be decoded fails it all. */
static int
read_cells(int sock, int64_t deadline_ms, struct agent_cells *r)
{
	auto_json json_t *reply = NULL;
	const json_t *list;

	if (agent_ask_recv(sock, "list", deadline_ms, &reply, &r->e) < 0)
		return -1;
	list = json_object_get(reply, "cells");
	if (!json_is_array(list) || json_array_size(list) > AGENT_CELLS_MAX)
		return err_set(&r->e, ERR_BAD_GATEWAY, CODE_AGENT_ERROR,
		    "agent list: the answer cannot be understood");
	r->cells = xcalloc(json_array_size(list) + 1, sizeof(*r->cells));
	for (; r->count < json_array_size(list); r->count++)
		if (jfield_decode(json_array_get(list, r->count), CELL,
			ARRAY_LEN(CELL), J_LENIENT, &r->cells[r->count],
			&r->e) < 0 ||
		    !id_is_session(r->cells[r->count].session))
			return err_set(&r->e, ERR_BAD_GATEWAY, CODE_AGENT_ERROR,
			    "agent list: the answer cannot be understood");
	return 0;
}

static void
list_batch(const struct provider *p, int64_t deadline_ms,
    struct agent_cells *who, size_t count)
{
	int sock[AT_ONCE];

	for (size_t i = 0; i < count; i++) {
		struct agent_question q = { .op = "list",
			.body = json_object() };

		sock[i] = agent_ask_send(p, who[i].sandbox, who[i].incarnation,
		    &q, &who[i].e);
	}
	for (size_t i = 0; i < count; i++) {
		if (sock[i] < 0)
			continue;
		who[i].answered =
		    read_cells(sock[i], deadline_ms, &who[i]) == 0;
		close(sock[i]);
	}
}

void
agent_cells_all(const struct provider *p, int64_t deadline_ms,
    struct agent_cells *who, size_t count)
{
	for (size_t i = 0; i < count; i += AT_ONCE)
		list_batch(p, deadline_ms, who + i,
		    count - i < AT_ONCE ? count - i : AT_ONCE);
}
