/* usage.c: measures sessions of the provider in memory. */
#include "common/str.h"
#include "world.h"

/* A cell of which fake_load() has said nothing. */
static const struct usage IDLE = { .running = true,
	.cpu_us = 20000,
	.cpu_user_us = 15000,
	.cpu_sys_us = 5000,
	.memory_bytes = 4 << 20,
	.memory_peak_bytes = 8 << 20,
	.processes = 2,
	.threads = 3 };

/* A number that is not known makes the sum unknown. */
static void
add(int64_t *to, int64_t n)
{
	*to = *to < 0 || n < 0 ? -1 : *to + n;
}

static void
add_usage(struct usage *to, const struct usage *u)
{
	add(&to->cpu_us, u->cpu_us);
	add(&to->cpu_user_us, u->cpu_user_us);
	add(&to->cpu_sys_us, u->cpu_sys_us);
	add(&to->memory_bytes, u->memory_bytes);
	add(&to->memory_peak_bytes, u->memory_peak_bytes);
	add(&to->processes, u->processes);
	add(&to->threads, u->threads);
}

/* init itself is a process of the sandbox. */
static void
measure_box(const char *id, struct usage *out)
{
	const struct fake_box *b = fake_find_box(id, false);

	if (b == NULL || !b->runs)
		return;
	*out = (struct usage){ .running = true, .processes = 1, .threads = 1 };
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (FAKE.cell[i].generation > 0 &&
		    str_equal(FAKE.cell[i].box, id))
			add_usage(out,
			    FAKE.cell[i].load.running ? &FAKE.cell[i].load
						      : &IDLE);
}

int
fake_measure_usage(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e)
{
	const struct fake_cell *c;
	bool lose;

	(void)p;
	*out = USAGE_UNKNOWN;
	if (fake_play("usage", deadline_ms, &lose, e) < 0)
		return -1;
	pthread_mutex_lock(&FAKE.lock);
	if (t->session[0] == '\0') {
		measure_box(t->sandbox, out);
		return fake_finish(0, lose, e);
	}
	c = fake_find_cell(t->sandbox, t->session, false);
	if (c != NULL && c->generation > 0)
		*out = c->load.running ? c->load : IDLE;
	return fake_finish(0, lose, e);
}

void
fake_load(const char *session, const struct usage *u)
{
	pthread_mutex_lock(&FAKE.lock);
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].session, session))
			FAKE.cell[i].load = *u;
	pthread_mutex_unlock(&FAKE.lock);
}
