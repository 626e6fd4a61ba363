/* members.c: ends members of the warm pool that are not wanted any more. */
#include "reaper/members.h"

#include <stdio.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/warm.h"
#include "reaper/plan.h"

/* How many more members of a class may stay; NULL: it shall have none. */
static int64_t *
room_of(const struct warm_classes *c, int64_t *room, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (str_equal(c->name[i], name))
			return &room[i];
	return NULL;
}

static struct plan_member
read_member(const struct rows *r, size_t i)
{
	const char *state = rows_text(r, i, "state");

	return (struct plan_member){
		.ready = str_equal(state, "ready"),
		.retiring = str_equal(state, "retiring"),
		.fits = rows_bool(r, i, "fits"),
		.overdue = rows_bool(r, i, "overdue"),
		.gone = rows_bool(r, i, "gone"),
	};
}

static void
settle_member(struct pass *p, const struct rows *r, size_t i, int64_t *room)
{
	const struct plan_member m = read_member(r, i);
	const char *session = rows_text(r, i, "session_id");
	struct err e = { 0 };

	if (plan_member_stays(&m, room != NULL && *room > 0)) {
		if (room != NULL && !m.retiring)
			(*room)--;
		return;
	}
	if (p->dry_run) {
		printf("warm: %s\n", session);
		return;
	}
	if (warm_end(p->ctl, session, rows_text(r, i, "sandbox_id"),
		rows_text(r, i, "incarnation"), &e) < 0)
		pass_failed(p, "warm", &e);
	else
		p->retired++;
}

/* {"class": shape}: what a member of each class must have been made with. */
static char *
shapes_of(struct control *ctl, const struct warm_classes *c)
{
	auto_json json_t *all = json_object();
	char shape[WARM_SHAPE_MAX];

	for (size_t i = 0; i < c->count; i++) {
		warm_shape(ctl, c->name[i], shape);
		json_object_set_new(all, c->name[i], json_string(shape));
	}
	return json_text(all);
}

void
members_settle(struct pass *p, const json_t *seen, const char *since)
{
	auto_rows struct rows *r = NULL;
	auto_free char *text = json_text(seen), *shapes = NULL;
	auto_free int64_t *room = NULL;
	struct warm_classes classes;
	struct err e = { 0 };

	warm_classes_read(p->ctl->conf, &classes);
	room = xcalloc(classes.count + 1, sizeof(*room));
	for (size_t i = 0; i < classes.count; i++)
		room[i] = classes.most;
	shapes = shapes_of(p->ctl, &classes);
	if (STORE_RUN(p->ctl->store, STMT_WARM_MEMBERS, &r, &e,
		p->ctl->conf->host_name, control_boot_id(p->ctl), shapes, text,
		since) < 0) {
		pass_failed(p, "warm", &e);
		return;
	}
	p->scanned += (int64_t)rows_count(r);
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++)
		settle_member(p, r, i,
		    room_of(&classes, room, rows_text(r, i, "class")));
}
