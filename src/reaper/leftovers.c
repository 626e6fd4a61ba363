/* leftovers.c: cells, directories and sockets against leases and sessions. */
#include "reaper/leftovers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/cell_control.h"
#include "control/stop.h"
#include "reaper/sighting.h"

enum { ROLL_MS = 2000 };

static bool
tell(const struct pass *p, const char *what, const char *id)
{
	if (p->dry_run)
		printf("%s: %s\n", what, id);
	return p->dry_run;
}

/* Whether what nobody knows may go now. */
static bool
is_ripe(struct pass *p, const char *thing)
{
	struct err e = { 0 };
	bool ripe;

	if (sighting_add(p, thing, &ripe, &e) < 0) {
		pass_failed(p, "leftovers", &e);
		return false;
	}
	p->leaked++;
	return ripe;
}

/* ---- cells */

static void
release_rolls(struct agent_roll *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(all[i].cells);
	free(all);
}

/* The sandboxes that run, asked for their cells; the caller's. */
static struct agent_roll *
call_roll(struct pass *p, const struct sandbox_seen *seen, size_t count,
    size_t *n)
{
	struct agent_roll *all = xcalloc(count + 1, sizeof(*all));

	*n = 0;
	for (size_t i = 0; i < count; i++) {
		if (seen[i].presence != PRESENCE_RUNNING)
			continue;
		str_copy(all[*n].sandbox, SANDBOX_ID_MAX, seen[i].id);
		str_copy(all[*n].incarnation, ID_MAX, seen[i].incarnation);
		++*n;
	}
	agent_roll_all(&p->ctl->provider, clock_ms() + ROLL_MS, all, *n);
	return all;
}

/* It ended since it was seen; that is no failure. */
static bool
has_ended(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_NOT_LISTENING, CODE_PEER_CLOSED,
	    CODE_STALE_INCARNATION);
}

/*
 * An init that died leaves what was frozen unable to die: a look at it lets it
 * go, and the next pass finds the sandbox down.
 */
static void
nobody_answers(struct pass *p, const struct agent_roll *roll)
{
	const struct provider *pr = &p->ctl->provider;
	struct sandbox_seen now;
	struct err e = roll->e;

	if (has_ended(&e) &&
	    (p->dry_run || pr->ops->inspect(pr, roll->sandbox, &now, &e) == 0))
		return;
	err_wrap(&e, "sandbox %s", roll->sandbox);
	pass_failed(p, "cells", &e);
}

/* Only those that answered are compared; one that is silent is a failure. */
static int
compare_cells(struct pass *p, const struct agent_roll *all, size_t count,
    struct rows **r, struct err *e)
{
	json_t *cells = json_array(), *boxes = json_array();
	auto_free char *cell_text = NULL, *box_text = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!all[i].answered) {
			nobody_answers(p, &all[i]);
			continue;
		}
		json_array_append_new(boxes,
		    json_pack("{s:s, s:s}", "id", all[i].sandbox, "incarnation",
			all[i].incarnation));
		for (size_t k = 0; k < all[i].count; k++)
			json_array_append_new(cells,
			    json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox",
				all[i].sandbox, "incarnation",
				all[i].incarnation, "session",
				all[i].cells[k].session, "instance",
				all[i].cells[k].instance, "generation",
				(json_int_t)all[i].cells[k].generation));
		p->scanned += (int64_t)all[i].count;
	}
	cell_text = control_spec_text(cells);
	box_text = control_spec_text(boxes);
	return STORE_RUN(p->ctl->store, STMT_CELL_DIFFERENCES, r, e,
	    p->ctl->conf->host_name, cell_text, box_text);
}

/*
 * A lease that is none is told to stop it, unless another life has begun since
 * (it saw that nothing was left); what nobody leases must ripen.
 */
static int
end_stranger(struct pass *p, const struct agent_target *t, bool known,
    int64_t lease_generation, struct err *e)
{
	auto_free char *thing = xasprintf("%s%s.%" PRId64, SIGHTING_CELL,
	    t->session, t->generation);

	if (known) {
		const struct stop_subject who = { .session = t->session,
			.seen_activity = -1,
			.generation = lease_generation };
		size_t ignored;

		p->leaked++;
		return stop_request_all(p->ctl, &who, 1, STOP_SLEEP,
		    "unexpected-wrapper", NULL, &ignored, e);
	}
	if (!is_ripe(p, thing))
		return 0;
	if (cell_control_end(p->ctl, t, e) < 0)
		return -1;
	p->removed++;
	return sighting_end(p, thing, e);
}

static void
settle_cell(struct pass *p, const struct rows *r, size_t i)
{
	const struct agent_target t = row_target(r, i);
	struct err e = { 0 };
	bool gone = false;
	int rc;

	if (tell(p, rows_text(r, i, "what"), t.session))
		return;
	if (str_equal(rows_text(r, i, "what"), "missing")) {
		rc = cell_control_gone(p->ctl, &t, &gone, &e);
		p->gone += gone;
	} else {
		rc = end_stranger(p, &t, rows_bool(r, i, "known"),
		    rows_int(r, i, "lease_generation"), &e);
	}
	if (rc < 0)
		pass_failed(p, "cells", &e);
}

/* Control groups of cells whose lease is none: an empty one goes. */
static void
clear_groups(struct pass *p)
{
	const struct provider *pr = &p->ctl->provider;
	auto_free struct session_seen *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	struct err e = { 0 };
	json_t *list = json_array();
	size_t count = 0;

	if (pr->ops->cell_list(pr, &seen, &count, &e) < 0)
		pass_failed(p, "groups", &e);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:s}", "sandbox", seen[i].sandbox,
			"session", seen[i].session));
	text = control_spec_text(list);
	if (count == 0 || p->dry_run)
		return;
	if (STORE_RUN(p->ctl->store, STMT_CELL_GROUP_DIFFERENCES, &r, &e,
		text) < 0) {
		pass_failed(p, "groups", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		bool gone;

		/* one that is not empty is a stranger's, and init's to tell */
		if (pr->ops->cell_gone(pr, rows_text(r, i, "sandbox_id"),
			rows_text(r, i, "session_id"), &gone, &e) < 0)
			pass_failed(p, "groups", &e);
		else
			p->removed += gone;
	}
}

void
leftovers_cells(struct pass *p, const struct sandbox_seen *seen, size_t count,
    const char *since)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };
	int64_t errors = p->errors;
	size_t n, i = 0;
	struct agent_roll *all = call_roll(p, seen, count, &n);

	if (compare_cells(p, all, n, &r, &e) < 0)
		pass_failed(p, "cells", &e);
	release_rolls(all, n);
	for (; r != NULL && i < rows_count(r) && pass_has_time(p); i++)
		settle_cell(p, r, i);
	if (p->errors == errors && pass_has_time(p))
		sighting_end_others(p, SIGHTING_CELL, since);
	if (pass_has_time(p))
		clear_groups(p);
}

/* ---- directories */

static void
drop(struct pass *p, const struct rows *r, size_t i)
{
	const struct provider *pr = &p->ctl->provider;
	const char *session = rows_text(r, i, "session_id");
	const char *sandbox = rows_text(r, i, "sandbox_id");
	auto_free char *thing =
	    xasprintf("%s%s/%s", SIGHTING_STORAGE, sandbox, session);
	bool known = rows_bool(r, i, "known");
	struct err e = { 0 };

	if (tell(p, "storage", session) || (!known && !is_ripe(p, thing)))
		return;
	if (pr->ops->storage_drop(pr, sandbox, session, &e) < 0 ||
	    (!known && sighting_end(p, thing, &e) < 0))
		pass_failed(p, "storage", &e);
	else
		p->removed++;
}

void
leftovers_storage(struct pass *p, const char *since)
{
	const struct provider *pr = &p->ctl->provider;
	auto_free struct session_seen *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	json_t *list = json_array();
	struct err e = { 0 };
	size_t count = 0;
	int rc = pr->ops->storage_list(pr, &seen, &count, &e);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:s}", "sandbox", seen[i].sandbox,
			"session", seen[i].session));
	text = control_spec_text(list);
	p->scanned += (int64_t)count;
	if (rc < 0 ||
	    STORE_RUN(p->ctl->store, STMT_STORAGE_DIFFERENCES, &r, &e, text) <
		0) {
		pass_failed(p, "storage", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++)
		drop(p, r, i);
	if (pass_has_time(p))
		sighting_end_others(p, SIGHTING_STORAGE, since);
}

/* ---- sockets */

static void
unlink_socket(struct pass *p, const struct rows *r, size_t i)
{
	struct agent_file f = { 0 };
	auto_free char *thing =
	    xasprintf("%s%s", SIGHTING_SOCKET, rows_text(r, i, "name"));
	bool known = rows_bool(r, i, "known");
	struct err e = { 0 };

	str_copy(f.name, sizeof(f.name), rows_text(r, i, "name"));
	if (tell(p, "socket", f.name) || (!known && !is_ripe(p, thing)))
		return;
	agent_unlink_socket(p->ctl->conf, &f);
	p->removed++;
	if (!known && sighting_end(p, thing, &e) < 0)
		pass_failed(p, "sockets", &e);
}

void
leftovers_sockets(struct pass *p, const char *since)
{
	auto_free struct agent_file *files = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	json_t *list = json_array();
	struct err e = { 0 };
	size_t count = 0;
	int rc = agent_sockets(p->ctl->conf, &files, &count, &e);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:I}", "name", files[i].name,
			"session", files[i].life.session, "generation",
			(json_int_t)files[i].life.generation));
	text = control_spec_text(list);
	p->scanned += (int64_t)count;
	if (rc < 0 ||
	    STORE_RUN(p->ctl->store, STMT_SOCKET_DIFFERENCES, &r, &e, text) <
		0) {
		pass_failed(p, "sockets", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++)
		unlink_socket(p, r, i);
	if (pass_has_time(p))
		sighting_end_others(p, SIGHTING_SOCKET, since);
}
