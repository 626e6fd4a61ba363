/*
 * told.c: sessions whose rows have changed follow them, one in each round of
 * the loop.
 *
 * A tenant can change many at once, again and again.  Each waits only once, and
 * workers are answered in between, so that nobody else has to wait for all.
 */
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/process.h"

static void
on_turn(struct loop_timer *t)
{
	struct rows_process *p = (struct rows_process *)(void *)((char *)t -
	    offsetof(struct rows_process, told_timer));
	void *first = json_object_iter(p->told);
	char session[ID_MAX];
	struct err e = { 0 };

	if (first == NULL)
		return;
	str_copy(session, sizeof(session), json_object_iter_key(first));
	json_object_del(p->told, session);
	if (follow(p, session, -1, &e) < 0)
		follow_failed(p, session, &e);
	if (json_object_size(p->told) > 0)
		loop_set(&p->loop, &p->told_timer, clock_ms());
}

void
told_open(struct rows_process *p)
{
	p->told = json_object();
	p->told_timer.fire = on_turn;
}

void
told_close(struct rows_process *p)
{
	loop_clear(&p->loop, &p->told_timer);
	json_decref(TAKE(p->told));
}

void
told_add(struct rows_process *p, const char *session)
{
	char id[ID_MAX];

	str_copy(id, sizeof(id), session);
	json_object_set_new(p->told, id, json_true());
	if (p->told_timer.index == 0)
		loop_set(&p->loop, &p->told_timer, clock_ms());
}
