/* leftovers.c: compares cells, directories and sockets with their rows. */
#include "reaper/leftovers.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/cell_control.h"
#include "control/inventory.h"
#include "control/stop.h"
#include "reaper/sighting.h"

/* In a dry run, prints what would go.  True: leave it. */
static bool
print_if_dry_run(const struct pass *p, const char *what, const char *id)
{
	if (p->dry_run)
		printf("%s: %s\n", what, id);
	return p->dry_run;
}

/* Notes a sighting of a thing that no row knows.  True: it may go now. */
static bool
note_sighting(struct pass *p, const char *thing)
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

/* The sandbox has ended since it was listed; that is no failure. */
static bool
has_ended(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_NOT_LISTENING, CODE_PEER_CLOSED,
	    CODE_STALE_INCARNATION);
}

/*
 * Thaws a sandbox whose init is gone (inventory_release_sandbox), so that the
 * next pass finds it stopped.  Any other silence is a failure.
 */
static void
settle_silence(struct pass *p, const struct inventory_silence *s)
{
	struct err e = s->why;

	if (has_ended(&e) &&
	    (p->dry_run ||
		inventory_release_sandbox(p->ctl, s->sandbox, &e) == 0))
		return;
	err_wrap(&e, "sandbox %s", s->sandbox);
	pass_failed(p, "cells", &e);
}

/* Compares the cells of the sandboxes whose init answered with the leases. */
static int
compare_cells(struct pass *p, const json_t *sandboxes, struct rows **r,
    struct err *e)
{
	auto_inventory_cells struct inventory_cells seen = { 0 };
	auto_free char *cells = NULL, *answered = NULL;

	inventory_cells(p->ctl, sandboxes, &seen);
	for (size_t i = 0; i < seen.silent_count; i++)
		settle_silence(p, &seen.silent[i]);
	p->scanned += (int64_t)json_array_size(seen.cells);
	cells = json_text(seen.cells);
	answered = json_text(seen.sandboxes);
	return STORE_RUN(p->ctl->store, STMT_CELL_DIFFERENCES, r, e,
	    p->ctl->conf->host_name, cells, answered);
}

/*
 * Ends a wrapper that no lease owns.  If its session's lease is none, a stop is
 * requested, unless another generation has begun since: that start has seen
 * that nothing was left.  A wrapper without any lease goes after enough
 * sightings.
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
	if (!note_sighting(p, thing))
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

	if (print_if_dry_run(p, rows_text(r, i, "what"), t.session))
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

/* Removes the empty control groups of cells whose lease is none. */
static void
clear_groups(struct pass *p)
{
	auto_json json_t *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	struct err e = { 0 };

	if (inventory_groups(p->ctl, &seen, &e) < 0)
		pass_failed(p, "groups", &e);
	if (json_array_size(seen) == 0 || p->dry_run)
		return;
	text = json_text(seen);
	if (STORE_RUN(p->ctl->store, STMT_CELL_GROUP_DIFFERENCES, &r, &e,
		text) < 0) {
		pass_failed(p, "groups", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		bool gone;

		/* a group that is not empty has a cell, which init lists */
		if (inventory_drop_group(p->ctl, rows_text(r, i, "sandbox_id"),
			rows_text(r, i, "session_id"), &gone, &e) < 0)
			pass_failed(p, "groups", &e);
		else
			p->removed += gone;
	}
}

void
leftovers_cells(struct pass *p, const json_t *sandboxes, const char *since)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };
	int64_t errors = p->errors;

	if (compare_cells(p, sandboxes, &r, &e) < 0)
		pass_failed(p, "cells", &e);
	for (size_t i = 0; r != NULL && i < rows_count(r) && pass_has_time(p);
	     i++)
		settle_cell(p, r, i);
	if (p->errors == errors && pass_has_time(p))
		sighting_end_others(p, SIGHTING_CELL, since);
	if (pass_has_time(p))
		clear_groups(p);
}

/* ---- directories */

static void
drop_storage(struct pass *p, const struct rows *r, size_t i)
{
	const char *session = rows_text(r, i, "session_id");
	const char *sandbox = rows_text(r, i, "sandbox_id");
	auto_free char *thing =
	    xasprintf("%s%s/%s", SIGHTING_STORAGE, sandbox, session);
	bool known = rows_bool(r, i, "known");
	struct err e = { 0 };

	if (print_if_dry_run(p, "storage", session) ||
	    (!known && !note_sighting(p, thing)))
		return;
	if (inventory_drop_storage(p->ctl, sandbox, session, &e) < 0 ||
	    (!known && sighting_end(p, thing, &e) < 0))
		pass_failed(p, "storage", &e);
	else
		p->removed++;
}

void
leftovers_storage(struct pass *p, const char *since)
{
	auto_json json_t *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	struct err e = { 0 };
	int rc = inventory_storage(p->ctl, &seen, &e);

	p->scanned += (int64_t)json_array_size(seen);
	if (rc == 0) {
		text = json_text(seen);
		rc = STORE_RUN(p->ctl->store, STMT_STORAGE_DIFFERENCES, &r, &e,
		    text);
	}
	if (rc < 0) {
		pass_failed(p, "storage", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++)
		drop_storage(p, r, i);
	if (pass_has_time(p))
		sighting_end_others(p, SIGHTING_STORAGE, since);
}

/* ---- sockets */

static void
drop_socket(struct pass *p, const struct rows *r, size_t i)
{
	const char *name = rows_text(r, i, "name");
	auto_free char *thing = xasprintf("%s%s", SIGHTING_SOCKET, name);
	bool known = rows_bool(r, i, "known");
	struct err e = { 0 };

	if (print_if_dry_run(p, "socket", name) ||
	    (!known && !note_sighting(p, thing)))
		return;
	inventory_drop_socket(p->ctl, name);
	p->removed++;
	if (!known && sighting_end(p, thing, &e) < 0)
		pass_failed(p, "sockets", &e);
}

void
leftovers_sockets(struct pass *p, const char *since)
{
	auto_json json_t *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	struct err e = { 0 };
	int rc = inventory_sockets(p->ctl, &seen, &e);

	p->scanned += (int64_t)json_array_size(seen);
	if (rc == 0) {
		text = json_text(seen);
		rc = STORE_RUN(p->ctl->store, STMT_SOCKET_DIFFERENCES, &r, &e,
		    text);
	}
	if (rc < 0) {
		pass_failed(p, "sockets", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++)
		drop_socket(p, r, i);
	if (pass_has_time(p))
		sighting_end_others(p, SIGHTING_SOCKET, since);
}
