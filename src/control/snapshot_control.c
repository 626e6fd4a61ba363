/* snapshot_control.c: takes, checks and removes snapshots. */
#include "control/snapshot_control.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/capacity.h"
#include "control/snapshot_ref.h"
#include "control/start.h"
#include "provider/provider.h"

enum {
	GRACE_SECONDS = 60, /* from the row to the first file */
	START_MS = 10000    /* to wake it, even if the client waits less */
};

/* ---- taking one */

/* Makes the session ready: one that sleeps is woken as by any call. */
static int
make_ready(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct session_row *s, struct err *e)
{
	int64_t at_least = clock_ms() + START_MS;

	if (start_session(ctl, session, tenant,
		deadline_ms > at_least ? deadline_ms : at_least, e) < 0 ||
	    control_session(ctl, session, tenant, s, e) < 0)
		return -1;
	if (s->state != SESSION_READY)
		return err_set(e, ERR_BUSY, CODE_SESSION_NOT_READY,
		    "the session is %s", SESSION_STATES[s->state]);
	return 0;
}

/* *bytes: at most what its sandbox may have, and what the host has left. */
static int
room_for(struct control *ctl, const struct session_row *s, int64_t deadline_ms,
    int64_t *bytes, struct err *e)
{
	const struct provider *p = &ctl->provider;
	struct capacity c;

	if (capacity_admit(ctl, s->sandbox.id, s->id, deadline_ms, e) < 0 ||
	    p->ops->capacity(p, "", &c, e) < 0)
		return -1;
	*bytes = c.room_bytes - (ctl->conf->disk_low_mb << 20);
	if (s->sandbox.disk_mb > 0 && s->sandbox.disk_mb << 20 < *bytes)
		*bytes = s->sandbox.disk_mb << 20;
	if (*bytes > 0)
		return 0;
	return err_set(e, ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE,
	    "this host has too little free space for a snapshot");
}

static int
record_intent(struct control *ctl, const struct session_row *s,
    const char *name, const char *id, struct snapshot_bounds *most,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(
	    json_pack("{s:s, s:s, s:s, s:s*, s:I, s:I, s:s, s:s*}", "id", id,
		"session", s->id, "tenant", s->tenant, "name",
		str_empty(name) ? NULL : name, "bytes", (json_int_t)most->bytes,
		"seconds", (json_int_t)(most->seconds + GRACE_SECONDS), "host",
		ctl->conf->host_name, "actor", control_actor(ctl)));

	if (STORE_RUN(ctl->store, STMT_SNAPSHOT_BEGIN, &r, e, spec) < 0)
		return -1;
	most->bytes = rows_int(r, 0, "size_bytes");
	CRASH_POINT("snapshot.intent");
	return 0;
}

/* Records the outcome; *applied is false if it was given up meanwhile. */
static int
record_outcome(struct control *ctl, const char *id, json_t *outcome,
    bool *applied, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(outcome);

	if (STORE_RUN(ctl->store, STMT_SNAPSHOT_SETTLE, &r, e, id, spec) < 0)
		return -1;
	*applied = !str_empty(rows_text(r, 0, "state"));
	CRASH_POINT("snapshot.settled");
	return 0;
}

static int
record_and_drop(struct control *ctl, const struct snapshot_ref *ref,
    const struct err *why, struct err *e)
{
	const struct provider *p = &ctl->provider;
	json_t *text = json_lossy(err_told(why));
	struct err dropping = { 0 };
	bool ignored;

	if (record_outcome(ctl, ref->id, json_pack("{s:o}", "error", text),
		&ignored, e) < 0)
		return -1;
	/* its files are of no use; the reaper removes what is left */
	if (p->ops->snapshot_drop(p, ref, &dropping) < 0)
		log_err(LOG_WARN, "snapshot_drop", &dropping);
	return 0;
}

/*
 * Compares a snapshot whose row says `creating` with what the provider has, and
 * records the outcome.
 */
static int
settle_snapshot(struct control *ctl, const struct snapshot_ref *ref,
    bool overdue, struct snapshot_seen *seen, struct err *e)
{
	const struct provider *p = &ctl->provider;
	bool applied;

	if (p->ops->snapshot_look(p, ref, seen, e) < 0)
		return -1;
	switch (seen->presence) {
	case SNAPSHOT_UNDER_WAY:
		return 0;
	case SNAPSHOT_WHOLE:
		if (record_outcome(ctl, ref->id,
			json_pack("{s:I, s:I}", "bytes",
			    (json_int_t)seen->bytes, "files",
			    (json_int_t)seen->files),
			&applied, e) < 0)
			return -1;
		if (!applied)
			log_line(LOG_INFO, "snapshot_late",
			    "snapshot %s was given up while it was taken",
			    ref->id);
		return 0;
	case SNAPSHOT_ABSENT:
		if (!overdue)
			return 0; /* its worker has not begun yet */
		err_set(&seen->why, ERR_CONFLICT, CODE_SNAPSHOT_FAILED,
		    "it was not begun in time; take another one");
		break;
	case SNAPSHOT_BROKEN:
		break;
	}
	log_err(LOG_WARN, "snapshot_failed", &seen->why);
	return record_and_drop(ctl, ref, &seen->why, e);
}

int
snapshot_settle(struct control *ctl, const char *tenant, const char *id,
    bool overdue, struct err *e)
{
	struct snapshot_seen seen;
	struct snapshot_ref ref;

	snapshot_of(tenant, id, &ref);
	return settle_snapshot(ctl, &ref, overdue, &seen, e);
}

/* ---- one whose files are gone */

int
snapshot_verify(struct control *ctl, const char *tenant, const char *id,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	struct snapshot_seen seen;
	struct snapshot_ref ref;

	snapshot_of(tenant, id, &ref);
	if (p->ops->snapshot_look(p, &ref, &seen, e) < 0)
		return -1;
	if (seen.presence == SNAPSHOT_UNDER_WAY)
		return 0;
	return snapshot_record_seen(ctl, id, seen.presence == SNAPSHOT_WHOLE,
	    e);
}

/* ---- taking one, as a whole */

/* Callers see one code, whatever was in the way. */
static int
name_failure(struct err *e)
{
	if (e->kind == ERR_CONFLICT)
		e->code = CODE_SNAPSHOT_FAILED;
	return -1;
}

static int
record_failure(struct control *ctl, const struct snapshot_ref *ref,
    struct err *e)
{
	struct err why = { 0 };

	if (e->kind == ERR_INTERNAL || e->kind == ERR_BAD_GATEWAY)
		log_err(LOG_WARN, "snapshot_failed", e);
	if (record_and_drop(ctl, ref, e, &why) < 0)
		log_err(LOG_WARN, "snapshot_settle", &why);
	return name_failure(e);
}

int
snapshot_create(struct control *ctl, const char *session, const char *tenant,
    const char *name, int64_t deadline_ms, char id[ID_MAX], struct err *e)
{
	const struct provider *p = &ctl->provider;
	struct snapshot_bounds most = { .seconds =
					    ctl->conf->snapshot_seconds };
	struct snapshot_seen seen;
	struct snapshot_ref ref;
	struct agent_target t;
	struct session_row s;

	id_random(id, ID_SESSION_LEN);
	snapshot_of(tenant, id, &ref);
	if (make_ready(ctl, session, tenant, deadline_ms, &s, e) < 0 ||
	    room_for(ctl, &s, deadline_ms, &most.bytes, e) < 0 ||
	    record_intent(ctl, &s, name, id, &most, e) < 0)
		return -1;
	t = control_target(&s);
	if (p->ops->snapshot_take(p, &ref, &t, &most, deadline_ms, e) < 0)
		return record_failure(ctl, &ref, e);
	CRASH_POINT("snapshot.taken");
	if (settle_snapshot(ctl, &ref, false, &seen, e) < 0)
		return -1;
	if (seen.presence != SNAPSHOT_BROKEN)
		return 0;
	*e = seen.why;
	return name_failure(e);
}

/* ---- removing one */

int
snapshot_finish(struct control *ctl, const char *tenant, const char *id,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_rows struct rows *r = NULL;
	struct snapshot_ref ref;

	if (STORE_RUN(ctl->store, STMT_SNAPSHOT_FREE, &r, e, id) < 0)
		return -1;
	if (rows_count(r) == 0 ||
	    !str_equal(rows_text(r, 0, "host"), ctl->conf->host_name))
		return 0;
	snapshot_of(tenant, id, &ref);
	if (p->ops->snapshot_drop(p, &ref, e) < 0)
		return -1;
	CRASH_POINT("snapshot.dropped");
	return STORE_RUN(ctl->store, STMT_SNAPSHOT_GONE, NULL, e, id);
}

int
snapshot_delete(struct control *ctl, const char *session, const char *tenant,
    const char *id, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct err why = { 0 };

	if (STORE_RUN(ctl->store, STMT_SNAPSHOT_REMOVE, &r, e, tenant, session,
		id) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SNAPSHOT_NOT_FOUND,
		    "there is no such snapshot");
	CRASH_POINT("snapshot.unwanted");
	/* the request is on record; the reaper finishes what fails here */
	if (snapshot_finish(ctl, tenant, id, &why) < 0)
		log_err(LOG_INFO, "snapshot_goes_on", &why);
	return 0;
}
