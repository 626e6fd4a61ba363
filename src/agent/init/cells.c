/* cells.c: keeps init's table of cells. */
#include "agent/init/cells.h"

#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

struct cell *
cells_find(const struct cells *t, const char *session)
{
	for (size_t i = 0; i < t->count; i++)
		if (str_equal(t->cell[i].session, session))
			return &t->cell[i];
	return NULL;
}

struct cell *
cells_by_pid(const struct cells *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->cell[i].pid == pid)
			return &t->cell[i];
	return NULL;
}

int
cells_add(struct cells *t, const struct cell *c, struct err *e)
{
	if (t->count == CELLS_MAX)
		return err_set(e, ERR_LIMITED, CODE_LAUNCH_FAILED,
		    "a sandbox can have at most %d sessions", CELLS_MAX);
	t->cell = xrealloc(t->cell, (t->count + 1) * sizeof(*t->cell));
	t->cell[t->count++] = *c;
	return 0;
}

void
cells_remove(struct cells *t, struct cell *c)
{
	size_t i = (size_t)(c - t->cell);

	mem_close_fd(&c->channel);
	mem_close_fd(&c->freezer);
	mem_close_fd(&c->egress);
	memmove(c, c + 1, (t->count - i - 1) * sizeof(*c));
	t->count--;
}

json_t *
cells_wrappers(const struct cells *t, const char *session)
{
	const struct cell *c = cells_find(t, session);
	json_t *list = json_array();

	if (c != NULL)
		json_array_append_new(list,
		    json_pack("{s:s, s:I}", "instance", c->instance,
			"generation", (json_int_t)c->generation));
	return list;
}

json_t *
cells_list(const struct cells *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->count; i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:I}", "session", t->cell[i].session,
			"instance", t->cell[i].instance, "generation",
			(json_int_t)t->cell[i].generation));
	return list;
}
