/* snapshot.c: snapshots in memory. */
#include <stdlib.h>

#include "common/mem.h"
#include "common/str.h"
#include "world.h"

static struct fake_snapshot *
find(const char *id, bool make)
{
	struct fake_snapshot *unused = NULL;

	for (size_t i = 0; i < FAKE_SNAPSHOTS; i++) {
		if (str_equal(FAKE.snapshot[i].ref.id, id))
			return &FAKE.snapshot[i];
		if (unused == NULL && FAKE.snapshot[i].ref.id[0] == '\0')
			unused = &FAKE.snapshot[i];
	}
	if (!make)
		return NULL;
	if (unused == NULL)
		abort();
	str_copy(unused->ref.owner, sizeof(unused->ref.owner), "0");
	str_copy(unused->ref.id, sizeof(unused->ref.id), id);
	return unused;
}

int
fake_snapshot_take(const struct provider *p, const struct snapshot_ref *s,
    const struct agent_target *t, const struct snapshot_bounds *most,
    int64_t deadline_ms, struct err *e)
{
	struct fake_snapshot *x;
	bool lose;

	(void)p, (void)t, (void)most;
	if (fake_play("snapshot_take", deadline_ms, &lose, e) < 0)
		return -1;
	pthread_mutex_lock(&FAKE.lock);
	x = find(s->id, true);
	x->ref = *s;
	/* a snapshot whose answer is lost goes on */
	x->presence = lose ? SNAPSHOT_UNDER_WAY : SNAPSHOT_WHOLE;
	return fake_finish(0, false, e);
}

int
fake_snapshot_look(const struct provider *p, const struct snapshot_ref *s,
    struct snapshot_seen *out, struct err *e)
{
	const struct fake_snapshot *x;
	bool lose;

	(void)p;
	*out = (struct snapshot_seen){ .presence = SNAPSHOT_ABSENT };
	if (fake_begin("snapshot_look", &lose, e) < 0)
		return -1;
	x = find(s->id, false);
	if (x != NULL)
		out->presence = x->presence;
	if (out->presence == SNAPSHOT_WHOLE)
		*out = (struct snapshot_seen){ .presence = SNAPSHOT_WHOLE,
			.files = 3,
			.bytes = 1 << 20 };
	if (out->presence == SNAPSHOT_BROKEN)
		err_set(&out->why, ERR_CONFLICT, CODE_JOB_FAILED,
		    "the fake broke it");
	return fake_finish(0, lose, e);
}

int
fake_snapshot_drop(const struct provider *p, const struct snapshot_ref *s,
    struct err *e)
{
	struct fake_snapshot *x;
	bool lose;
	int rc = 0;

	(void)p;
	if (fake_begin("snapshot_drop", &lose, e) < 0)
		return -1;
	x = find(s->id, false);
	if (x != NULL && x->presence == SNAPSHOT_UNDER_WAY)
		rc = err_set(e, ERR_BUSY, CODE_JOB_RUNS, "it is being written");
	else if (x != NULL)
		*x = (struct fake_snapshot){ 0 };
	return fake_finish(rc, lose, e);
}

int
fake_snapshot_list(const struct provider *p, struct snapshot_ref **out,
    size_t *count, struct err *e)
{
	bool lose;

	(void)p;
	*out = NULL;
	*count = 0;
	if (fake_begin("snapshot_list", &lose, e) < 0)
		return -1;
	*out = xcalloc(FAKE_SNAPSHOTS, sizeof(**out));
	for (size_t i = 0; i < FAKE_SNAPSHOTS; i++)
		if (FAKE.snapshot[i].ref.id[0] != '\0')
			(*out)[(*count)++] = FAKE.snapshot[i].ref;
	return fake_finish(0, false, e);
}

int
fake_storage_from(const struct provider *p, const char *id, const char *session,
    const struct snapshot_ref *s, int64_t deadline_ms, struct err *e)
{
	struct fake_cell *c;
	bool lose;

	(void)p;
	if (fake_play("storage_from", deadline_ms, &lose, e) < 0)
		return -1;
	pthread_mutex_lock(&FAKE.lock);
	if (find(s->id, false) == NULL)
		return fake_finish(err_set(e, ERR_CONFLICT, CODE_SNAPSHOT_LOST,
				       "there is no such snapshot"),
		    false, e);
	fake_find_box(id, true);
	c = fake_find_cell(id, session, true);
	c->storage = true;
	str_copy(c->from, sizeof(c->from), s->id);
	return fake_finish(0, lose, e);
}

void
fake_snapshot_be(const char *id, enum snapshot_presence presence)
{
	pthread_mutex_lock(&FAKE.lock);
	find(id, true)->presence = presence;
	pthread_mutex_unlock(&FAKE.lock);
}

int
fake_snapshots(void)
{
	int n = 0;

	pthread_mutex_lock(&FAKE.lock);
	for (size_t i = 0; i < FAKE_SNAPSHOTS; i++)
		n += FAKE.snapshot[i].ref.id[0] != '\0';
	pthread_mutex_unlock(&FAKE.lock);
	return n;
}

const char *
fake_made_of(const char *session)
{
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].session, session))
			return FAKE.cell[i].from;
	return "";
}
