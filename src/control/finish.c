/* finish.c: completes deletions once the lease is none. */
#include "control/finish.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/sandbox_control.h"
#include "provider/link/link.h"

struct deletion {
	char session[ID_MAX];
	int64_t generation;
	char sandbox[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	bool gone; /* its sandbox or files are removed */
	struct err why;
};

/* Destroys the sandboxes that belong to one session, with their files. */
static void
end_sandboxes(struct control *ctl, struct deletion *all, size_t count)
{
	auto_free struct sandbox_end *ends = xcalloc(count, sizeof(*ends));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (sandbox_id_is_isolated(all[i].sandbox)) {
			ends[n].id = all[i].sandbox;
			ends[n++].incarnation = all[i].incarnation;
		}
	sandbox_control_end_all(ctl, ends, n, true);
	for (size_t i = 0, k = 0; i < count; i++)
		if (sandbox_id_is_isolated(all[i].sandbox)) {
			all[i].gone = ends[k].done;
			all[i].why = ends[k++].why;
		}
}

/*
 * Whether a deletion must be skipped: it has failed before, or its sandbox id
 * is invalid.
 */
static bool
must_skip(struct deletion *l)
{
	return l->why.kind != ERR_NONE ||
	    sandbox_id_check(l->sandbox, &l->why) < 0;
}

static void
drop_files(struct control *ctl, struct deletion *all, size_t count)
{
	const struct provider *p = &ctl->provider;

	for (size_t i = 0; i < count; i++) {
		struct deletion *l = &all[i];

		if (sandbox_id_is_isolated(l->sandbox) || must_skip(l))
			continue;
		l->gone = p->ops->storage_drop(p, l->sandbox, l->session,
			      &l->why) == 0;
		if (l->gone)
			l->why = (struct err){ 0 };
	}
}

static void
remove_sockets(struct control *ctl, const struct deletion *all, size_t count)
{
	auto_free struct agent_life *lives = xcalloc(count, sizeof(*lives));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].gone) {
			str_copy(lives[n].session, ID_MAX, all[i].session);
			lives[n++].generation = all[i].generation;
		}
	agent_unlink_sockets_of(ctl->conf, lives, n);
}

/*
 * Completes deletions.  The caller holds the locks of the sandboxes.  *done:
 * how many rows are `deleted` now.
 */
static int
complete_deletions(struct control *ctl, struct deletion *all, size_t count,
    size_t *done, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	json_t *ids = json_array();

	*done = 0;
	CRASH_POINT("delete.locked");
	end_sandboxes(ctl, all, count);
	CRASH_POINT("delete.ending");
	drop_files(ctl, all, count);
	CRASH_POINT("delete.dropped");
	remove_sockets(ctl, all, count);
	CRASH_POINT("delete.cleared");
	for (size_t i = 0; i < count; i++)
		if (all[i].gone)
			json_array_append_new(ids, json_string(all[i].session));
	text = control_spec_text(json_pack("{s:o, s:s, s:s*}", "sessions", ids,
	    "trace", ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSIONS_DELETED, &r, e, text) < 0)
		return -1;
	CRASH_POINT("delete.ended");
	*done = rows_count(r);
	return 0;
}

int
finish_delete(struct control *ctl, const char *session, bool *done,
    struct err *e)
{
	struct deletion one = { 0 };
	struct session_row s;
	size_t n;
	int rc;

	*done = false;
	if (control_session(ctl, session, "", &s, e) < 0)
		return -1;
	if (s.state != SESSION_DELETING || s.lease != LEASE_NONE)
		return 0;
	if (control_must_be_here(ctl, &s, e) < 0)
		return -1;
	str_copy(one.session, sizeof(one.session), s.id);
	str_copy(one.sandbox, sizeof(one.sandbox), s.sandbox.id);
	str_copy(one.incarnation, sizeof(one.incarnation),
	    s.sandbox.incarnation);
	one.generation = s.generation;
	if (control_lock(ctl, one.sandbox, e) < 0)
		return -1;
	rc = complete_deletions(ctl, &one, 1, &n, e);
	control_unlock(ctl, one.sandbox);
	if (rc == 0 && one.why.kind != ERR_NONE) {
		*e = one.why;
		return -1;
	}
	*done = rc == 0 && n == 1;
	return rc;
}

static json_t *
read_due(const struct rows *r, struct deletion *all)
{
	json_t *boxes = json_array();

	for (size_t i = 0; i < rows_count(r); i++) {
		str_copy(all[i].session, ID_MAX, rows_text(r, i, "session_id"));
		str_copy(all[i].sandbox, SANDBOX_ID_MAX,
		    rows_text(r, i, "sandbox_id"));
		str_copy(all[i].incarnation, ID_MAX,
		    rows_text(r, i, "incarnation"));
		all[i].generation = rows_int(r, i, "generation");
		json_array_append_new(boxes, json_string(all[i].sandbox));
	}
	return boxes;
}

int
finish_due(struct control *ctl, int64_t limit, json_t *left,
    struct finish_count *n, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free struct deletion *all = NULL;
	auto_free char *names = json_text(left);
	auto_json json_t *boxes = NULL;
	char text[24];
	int rc;

	*n = (struct finish_count){ 0 };
	snprintf(text, sizeof(text), "%" PRId64, limit);
	if (STORE_RUN(ctl->store, STMT_DUE_DELETIONS, &r, e,
		ctl->conf->host_name, text, names) < 0)
		return -1;
	n->found = rows_count(r);
	if (n->found == 0)
		return 0;
	all = xcalloc(n->found, sizeof(*all));
	boxes = read_due(r, all);
	rc = complete_deletions(ctl, all, n->found, &n->done, e);
	control_unlock_all(ctl, boxes);
	for (size_t i = 0; i < n->found; i++) {
		if (!all[i].gone)
			json_array_append_new(left,
			    json_string(all[i].session));
		if (all[i].why.kind != ERR_NONE) {
			err_wrap(&all[i].why, "session %s", all[i].session);
			log_err(LOG_WARN, "delete_goes_on", &all[i].why);
			n->failed++;
		}
	}
	return rc;
}

int
finish_failed(struct control *ctl, const char *session, const char *sandbox,
    bool *done, struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_rows struct rows *r = NULL;

	*done = false;
	if (STORE_RUN(ctl->store, STMT_FILES_DROPPING, &r, e, session) < 0)
		return -1;
	if (rows_count(r) == 0)
		return 0;
	*done = true;
	CRASH_POINT("files.intent");
	/* if this fails, the reaper's reconciliation removes the directory */
	return p->ops->storage_drop(p, sandbox, session, e);
}
