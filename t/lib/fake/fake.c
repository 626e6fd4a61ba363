/* fake.c: the script of a test, and the world in memory that it changes. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "common/str.h"
#include "world.h"

enum { SCRIPTS = 64 };

struct fake_world FAKE = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.free_mb = FAKE_FREE_MB,
	.free_files = FAKE_FILES };

static struct {
	char op[FAKE_OP_MAX];
	enum fake_how how;
	int times;
	int calls;
	void (*meanwhile)(void *arg);
	void *arg;
	json_t *said; /* owned */
} SCRIPT[SCRIPTS];

/* ---- the script */

static size_t
find_script(const char *op)
{
	size_t i = 0;

	while (SCRIPT[i].op[0] != '\0' && !str_equal(SCRIPT[i].op, op))
		if (++i == SCRIPTS)
			abort();
	str_copy(SCRIPT[i].op, sizeof(SCRIPT[i].op), op);
	return i;
}

void
fake_script(const char *op, enum fake_how how, int times)
{
	size_t i;

	pthread_mutex_lock(&FAKE.lock);
	i = find_script(op);
	SCRIPT[i].how = how;
	SCRIPT[i].times = times;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_meanwhile(const char *op, void (*what)(void *arg), void *arg)
{
	size_t i;

	pthread_mutex_lock(&FAKE.lock);
	i = find_script(op);
	SCRIPT[i].meanwhile = what;
	SCRIPT[i].arg = arg;
	pthread_mutex_unlock(&FAKE.lock);
}

enum fake_how
fake_next(const char *op)
{
	enum fake_how how = FAKE_WORK;
	void (*meanwhile)(void *arg);
	void *arg;
	size_t i;

	pthread_mutex_lock(&FAKE.lock);
	i = find_script(op);
	SCRIPT[i].calls++;
	if (SCRIPT[i].times > 0) {
		SCRIPT[i].times--;
		how = SCRIPT[i].how;
	}
	meanwhile = SCRIPT[i].meanwhile;
	arg = SCRIPT[i].arg;
	SCRIPT[i].meanwhile = NULL;
	pthread_mutex_unlock(&FAKE.lock);
	if (meanwhile != NULL)
		meanwhile(arg);
	return how;
}

void
fake_note(const char *op, json_t *message)
{
	size_t i;

	pthread_mutex_lock(&FAKE.lock);
	i = find_script(op);
	json_decref(SCRIPT[i].said);
	SCRIPT[i].said = json_incref(message);
	pthread_mutex_unlock(&FAKE.lock);
}

const json_t *
fake_said(const char *op)
{
	const json_t *said;

	pthread_mutex_lock(&FAKE.lock);
	said = SCRIPT[find_script(op)].said;
	pthread_mutex_unlock(&FAKE.lock);
	return said;
}

int
fake_calls(const char *op)
{
	int calls;

	pthread_mutex_lock(&FAKE.lock);
	calls = SCRIPT[find_script(op)].calls;
	pthread_mutex_unlock(&FAKE.lock);
	return calls;
}

/* ---- the world, with its lock held */

struct fake_box *
fake_find_box(const char *id, bool make)
{
	struct fake_box *unused = NULL;

	for (size_t i = 0; i < FAKE_BOXES; i++) {
		if (str_equal(FAKE.box[i].id, id))
			return &FAKE.box[i];
		if (unused == NULL && FAKE.box[i].id[0] == '\0')
			unused = &FAKE.box[i];
	}
	if (!make)
		return NULL;
	if (unused == NULL)
		abort();
	str_copy(unused->id, sizeof(unused->id), id);
	return unused;
}

struct fake_cell *
fake_find_cell(const char *id, const char *session, bool make)
{
	struct fake_cell *unused = NULL;

	for (size_t i = 0; i < FAKE_CELLS; i++) {
		struct fake_cell *c = &FAKE.cell[i];

		if (str_equal(c->box, id) && str_equal(c->session, session))
			return c;
		if (unused == NULL && c->box[0] == '\0')
			unused = c;
	}
	if (!make)
		return NULL;
	if (unused == NULL)
		abort();
	str_copy(unused->box, sizeof(unused->box), id);
	str_copy(unused->session, sizeof(unused->session), session);
	return unused;
}

void
fake_end_cell(struct fake_cell *c)
{
	c->generation = 0;
	c->twin = false;
	c->instance[0] = '\0';
	channel_fds_close(&c->fds);
}

/* Every process of the sandbox ends; init's list of seals ends with init. */
void
fake_end_box(struct fake_box *b)
{
	b->runs = false;
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].box, b->id)) {
			fake_end_cell(&FAKE.cell[i]);
			FAKE.cell[i].sealed = 0;
		}
}

/* ---- changes that tests make to the world */

void
fake_reset(void)
{
	fake_join();
	pthread_mutex_lock(&FAKE.lock);
	for (size_t i = 0; i < FAKE_CELLS; i++)
		fake_end_cell(&FAKE.cell[i]);
	memset(FAKE.box, 0, sizeof(FAKE.box));
	memset(FAKE.cell, 0, sizeof(FAKE.cell));
	memset(FAKE.snapshot, 0, sizeof(FAKE.snapshot));
	/* the wrapper has been idle for a day */
	FAKE.status =
	    (struct agent_status){ .idle_ms = 86400000, .relay_idle_ms = -1 };
	FAKE.stubborn = FAKE.immortal = FAKE.old = FAKE.own_disk = false;
	FAKE.free_mb = FAKE_FREE_MB;
	FAKE.free_files = FAKE_FILES;
	FAKE.more_mb = FAKE.ballast = 0;
	for (size_t i = 0; i < SCRIPTS; i++)
		json_decref(SCRIPT[i].said);
	memset(SCRIPT, 0, sizeof(SCRIPT));
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_crash(const char *id)
{
	struct fake_box *b;

	pthread_mutex_lock(&FAKE.lock);
	b = fake_find_box(id, false);
	if (b != NULL)
		fake_end_box(b);
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_half_start(const char *id)
{
	struct fake_box *b;

	pthread_mutex_lock(&FAKE.lock);
	b = fake_find_box(id, true);
	fake_end_box(b);
	b->runs = true;
	b->record.state = RECORD_STARTING;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_cell_add(const char *id, const char *session, const char *instance,
    int64_t generation)
{
	struct fake_cell *c;

	pthread_mutex_lock(&FAKE.lock);
	c = fake_find_cell(id, session, true);
	str_copy(c->instance, sizeof(c->instance), instance);
	c->generation = generation;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_cell_twin(const char *id, const char *session)
{
	pthread_mutex_lock(&FAKE.lock);
	fake_find_cell(id, session, true)->twin = true;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_cell_die(const char *id, const char *session)
{
	struct fake_cell *c;

	pthread_mutex_lock(&FAKE.lock);
	c = fake_find_cell(id, session, false);
	if (c != NULL)
		fake_end_cell(c);
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_stubborn(bool stubborn, bool immortal)
{
	pthread_mutex_lock(&FAKE.lock);
	FAKE.stubborn = stubborn;
	FAKE.immortal = immortal;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_old(void)
{
	pthread_mutex_lock(&FAKE.lock);
	FAKE.old = true;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_status(const struct agent_status *s)
{
	pthread_mutex_lock(&FAKE.lock);
	FAKE.status = *s;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_box_add(const char *id, const char *incarnation)
{
	struct fake_box *b;

	pthread_mutex_lock(&FAKE.lock);
	b = fake_find_box(id, true);
	b->runs = true;
	b->record.state = RECORD_LIVE;
	str_copy(b->record.incarnation, sizeof(b->record.incarnation),
	    incarnation);
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_capacity(int64_t free_mb, int64_t more_mb, bool own)
{
	pthread_mutex_lock(&FAKE.lock);
	FAKE.free_mb = free_mb;
	FAKE.more_mb = more_mb;
	FAKE.own_disk = own;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_workspace(const char *id, const char *session, int64_t age_seconds)
{
	struct fake_cell *c;

	pthread_mutex_lock(&FAKE.lock);
	c = fake_find_cell(id, session, true);
	c->storage = true;
	c->age = age_seconds;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_files(int64_t free_files)
{
	pthread_mutex_lock(&FAKE.lock);
	FAKE.free_files = free_files;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_measured(const char *session, const struct fake_measure *m)
{
	pthread_mutex_lock(&FAKE.lock);
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].session, session))
			FAKE.cell[i].measure = *m;
	pthread_mutex_unlock(&FAKE.lock);
}

void
fake_usage(const char *session, int64_t bytes, int64_t more)
{
	pthread_mutex_lock(&FAKE.lock);
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].session, session)) {
			FAKE.cell[i].usage = bytes;
			FAKE.cell[i].growth = more;
		}
	pthread_mutex_unlock(&FAKE.lock);
}

bool
fake_is_frozen(const char *session)
{
	bool frozen = false;

	pthread_mutex_lock(&FAKE.lock);
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].session, session))
			frozen = FAKE.cell[i].frozen;
	pthread_mutex_unlock(&FAKE.lock);
	return frozen;
}
