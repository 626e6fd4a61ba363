/* snapshots.c: serves the routes that create, list and delete snapshots. */
#include "api/app.h"
#include "api/org_share.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"
#include "api/v1/session_body.h"
#include "api/v1/snapshot_body.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/snapshot_control.h"

/* clang-format off */
const struct jfield SNAPSHOT_FIELDS[] = {
	JFIELD("name", struct snapshot_body, name, J_STR, 0, 1, 128, "for people; several may have the same"),
};
/* clang-format on */
const size_t SNAPSHOT_FIELD_COUNT = ARRAY_LEN(SNAPSHOT_FIELDS);

static int
check_name(const char *s, struct err *e)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return err_field(e, "name",
			    "must not contain control characters");
	return 0;
}

static int
read_snapshots(struct call *c, const char *session, const char *id,
    const struct page *p, struct rows **r, struct err *e)
{
	struct app *app = app_of(c);

	return STORE_RUN(app->store, STMT_SNAPSHOT_LIST, r, e, app->who.tenant,
	    session, id, p->at, p->id, p->ask);
}

/*
 * Settles the snapshots of this host that are being created: a GET finds out
 * whether the job has ended.  Stops if too many calls wait already.  *any:
 * there was such a snapshot.
 */
static void
settle_creating(struct call *c, struct control *ctl, const struct rows *r,
    bool *any)
{
	struct app *app = app_of(c);

	*any = false;
	for (size_t i = 0; i < rows_count(r); i++) {
		struct err e = { 0 };

		if (!str_equal(rows_text(r, i, "state"), "creating") ||
		    !str_equal(rows_text(r, i, "host"), ctl->conf->host_name))
			continue;
		if (!org_share_wait(app->share, app->worker, app->who.tenant,
			SHARE_ANSWER))
			return;
		*any = true;
		if (snapshot_settle(ctl, app->who.tenant, rows_text(r, i, "id"),
			false, &e) < 0)
			log_err(LOG_WARN, "snapshot_settle", &e);
	}
}

static int
read_settled(struct call *c, const char *session, const char *id,
    const struct page *p, struct rows **r, struct err *e)
{
	struct control *ctl = app_control(c, e);
	bool any;

	if (ctl == NULL || read_snapshots(c, session, id, p, r, e) < 0)
		return -1;
	settle_creating(c, ctl, *r, &any);
	if (!any)
		return 0;
	rows_free(r);
	return read_snapshots(c, session, id, p, r, e);
}

/* Answers with a snapshot; the status is `pending` while it is created. */
static int
reply_one(struct call *c, const char *id, int done, int pending, struct err *e)
{
	static const struct page ALL = { .at = "", .id = "", .ask = "1" };
	auto_rows struct rows *r = NULL;
	int status;

	if (read_settled(c, "", id, &ALL, &r, e) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SNAPSHOT_NOT_FOUND,
		    "there is no such snapshot");
	status =
	    str_equal(rows_text(r, 0, "state"), "creating") ? pending : done;
	return reply_row(c, status, r, e);
}

int
v1_snapshot_create(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL;
	struct snapshot_body b = { 0 };
	int64_t deadline;
	char id[ID_MAX];

	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, SNAPSHOT_FIELDS, SNAPSHOT_FIELD_COUNT, 0, &b,
		e) < 0 ||
	    check_name(b.name, e) < 0 || wait_deadline(c, &deadline, e) < 0 ||
	    snapshot_create(ctl, call_var(c, "id"), app->who.tenant, b.name,
		deadline, id, e) < 0)
		return -1;
	return reply_one(c, id, 201, 202, e);
}

/* If the path names a session, it must be one of the client's tenant. */
static int
check_session(struct call *c, struct control *ctl, struct err *e)
{
	const char *id = call_var(c, "id");
	struct session_row row;

	return id[0] == '\0'
	    ? 0
	    : control_session(ctl, id, app_of(c)->who.tenant, &row, e);
}

int
v1_snapshot_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	struct page p;

	if (ctl == NULL || page_read(c, &p, e) < 0 ||
	    check_session(c, ctl, e) < 0 ||
	    read_settled(c, call_var(c, "id"), "", &p, &r, e) < 0)
		return -1;
	return reply_page(c, "snapshots", &p, r, e);
}

static int
check_id(const char *id, struct err *e)
{
	if (id_is_session(id))
		return 0;
	return err_set(e, ERR_NOT_FOUND, CODE_SNAPSHOT_NOT_FOUND,
	    "there is no such snapshot");
}

int
v1_snapshot_get(struct call *c, struct err *e)
{
	const char *id = call_var(c, "snapshot");

	return check_id(id, e) < 0 ? -1 : reply_one(c, id, 200, 200, e);
}

int
v1_snapshot_delete(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "snapshot");

	if (ctl == NULL || check_session(c, ctl, e) < 0 ||
	    check_id(id, e) < 0 ||
	    snapshot_delete(ctl, call_var(c, "id"), app->who.tenant, id, e) < 0)
		return -1;
	call_reply_empty(c, 204);
	return 0;
}
