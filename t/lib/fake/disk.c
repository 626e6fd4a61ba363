/* disk.c: disk space, usage and inodes of the provider in memory. */
#include <stdlib.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/disk.h"
#include "world.h"

int
fake_workspaces(const struct provider *p, const char *id,
    struct workspace **out, size_t *count, struct err *e)
{
	bool lose;

	(void)p;
	*out = NULL;
	*count = 0;
	if (fake_begin("workspaces", &lose, e) < 0)
		return -1;
	*out = xcalloc(FAKE_CELLS, sizeof(**out));
	for (size_t i = 0; i < FAKE_CELLS; i++) {
		const struct fake_cell *c = &FAKE.cell[i];

		if (!c->storage || !str_equal(c->box, id))
			continue;
		str_copy((*out)[*count].session, ID_MAX, c->session);
		(*out)[(*count)++].age_seconds = c->age;
	}
	return fake_finish(0, lose, e);
}

int
fake_measure(const struct provider *p, const char *id, struct capacity *out,
    struct err *e)
{
	bool lose;

	(void)p, (void)id;
	if (fake_begin("capacity", &lose, e) < 0)
		return -1;
	*out = (struct capacity){ .free_bytes = FAKE.free_mb << 20,
		.total_bytes = (int64_t)FAKE_FREE_MB << 20,
		.free_files = FAKE.free_files,
		.total_files = FAKE_FILES,
		.room_bytes = disk_room(FAKE.free_mb << 20,
		    (int64_t)FAKE_FREE_MB << 20, FAKE.free_files, FAKE_FILES) };
	return fake_finish(0, lose, e);
}

bool
fake_own_disk(const struct provider *p, const char *id)
{
	(void)p, (void)id;
	return FAKE.own_disk;
}

int
fake_ballast(const struct provider *p, int64_t bytes, struct err *e)
{
	bool lose;

	(void)p;
	if (fake_begin("ballast", &lose, e) < 0)
		return -1;
	FAKE.free_mb += (FAKE.ballast - bytes) >> 20;
	FAKE.ballast = bytes;
	return fake_finish(0, lose, e);
}

int64_t
fake_ballast_size(const struct provider *p)
{
	(void)p;
	return FAKE.ballast;
}

int
fake_freeze(const struct provider *p, const struct session_seen *s, bool on,
    struct err *e)
{
	struct fake_cell *c;
	bool lose;

	(void)p;
	if (fake_begin("cell_freeze", &lose, e) < 0)
		return -1;
	c = fake_find_cell(s->sandbox, s->session, false);
	if (c != NULL)
		c->frozen = on;
	return fake_finish(0, lose, e);
}

int
fake_frozen(const struct provider *p, struct session_seen **out, size_t *count,
    struct err *e)
{
	bool lose;

	(void)p;
	*out = NULL;
	*count = 0;
	if (fake_begin("frozen", &lose, e) < 0)
		return -1;
	*out = xcalloc(FAKE_CELLS, sizeof(**out));
	for (size_t i = 0; i < FAKE_CELLS; i++) {
		const struct fake_cell *c = &FAKE.cell[i];

		if (!c->frozen)
			continue;
		str_copy((*out)[*count].sandbox, SANDBOX_ID_MAX, c->box);
		str_copy((*out)[(*count)++].session, ID_MAX, c->session);
	}
	return fake_finish(0, lose, e);
}
