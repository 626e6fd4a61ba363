/* inventory.c: lists what this host has, and removes what no row explains. */
#include "control/inventory.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/link.h"

enum { END_MS = 15000, CELLS_MS = 2000 };

/* ---- sandboxes */

int
inventory_sandboxes(const struct control *ctl, json_t **out, struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_free struct sandbox_seen *seen = NULL;
	size_t count = 0;

	*out = NULL;
	if (p->ops->list(p, &seen, &count, e) < 0)
		return -1;
	*out = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(*out,
		    json_pack("{s:s, s:s, s:s}", "id", seen[i].id,
			"incarnation", seen[i].incarnation, "presence",
			PRESENCE_NAMES[seen[i].presence]));
	return 0;
}

int
inventory_stop_sandbox(const struct control *ctl, const char *id,
    const char *incarnation, struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->stop(p, id, incarnation, clock_ms() + END_MS, e);
}

int
inventory_destroy_sandbox(const struct control *ctl, const char *id,
    const char *incarnation, struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->destroy(p, id, incarnation, clock_ms() + END_MS, e);
}

int
inventory_release_sandbox(const struct control *ctl, const char *id,
    struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->thaw_orphans(p, id, e);
}

/* ---- cells */

void
inventory_cells_release(struct inventory_cells *c)
{
	json_decref(c->cells);
	json_decref(c->sandboxes);
	free(c->silent);
}

/* The running sandboxes, each with room for its answer; the caller frees it. */
static struct agent_cells *
list_running(const json_t *sandboxes, size_t *count)
{
	struct agent_cells *all =
	    xcalloc(json_array_size(sandboxes) + 1, sizeof(*all));
	const json_t *s;
	size_t i;

	*count = 0;
	json_array_foreach(sandboxes, i, s)
	{
		if (!str_equal(json_str(s, "presence"),
			PRESENCE_NAMES[PRESENCE_RUNNING]))
			continue;
		str_copy(all[*count].sandbox, SANDBOX_ID_MAX,
		    json_str(s, "id"));
		str_copy(all[*count].incarnation, ID_MAX,
		    json_str(s, "incarnation"));
		++*count;
	}
	return all;
}

static void
add_cells(struct inventory_cells *out, const struct agent_cells *list)
{
	if (!list->answered) {
		struct inventory_silence *s = &out->silent[out->silent_count++];

		str_copy(s->sandbox, sizeof(s->sandbox), list->sandbox);
		s->why = list->e;
		return;
	}
	json_array_append_new(out->sandboxes,
	    json_pack("{s:s, s:s}", "id", list->sandbox, "incarnation",
		list->incarnation));
	for (size_t k = 0; k < list->count; k++)
		json_array_append_new(out->cells,
		    json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox",
			list->sandbox, "incarnation", list->incarnation,
			"session", list->cells[k].session, "instance",
			list->cells[k].instance, "generation",
			(json_int_t)list->cells[k].generation));
}

void
inventory_cells(const struct control *ctl, const json_t *sandboxes,
    struct inventory_cells *out)
{
	size_t count;
	auto_free struct agent_cells *all = list_running(sandboxes, &count);

	*out = (struct inventory_cells){ .cells = json_array(),
		.sandboxes = json_array(),
		.silent = xcalloc(count + 1, sizeof(*out->silent)) };
	agent_cells_all(&ctl->provider, clock_ms() + CELLS_MS, all, count);
	for (size_t i = 0; i < count; i++) {
		add_cells(out, &all[i]);
		free(all[i].cells);
	}
}

/* ---- groups, directories and sockets of sessions */

typedef int list_fn(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e);

static int
list_sessions(const struct control *ctl, list_fn *list, json_t **out,
    struct err *e)
{
	auto_free struct session_seen *seen = NULL;
	size_t count = 0;

	*out = NULL;
	if (list(&ctl->provider, &seen, &count, e) < 0)
		return -1;
	*out = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(*out,
		    json_pack("{s:s, s:s}", "sandbox", seen[i].sandbox,
			"session", seen[i].session));
	return 0;
}

int
inventory_groups(const struct control *ctl, json_t **out, struct err *e)
{
	return list_sessions(ctl, ctl->provider.ops->cell_list, out, e);
}

int
inventory_drop_group(const struct control *ctl, const char *sandbox,
    const char *session, bool *gone, struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->cell_gone(p, sandbox, session, gone, e);
}

int
inventory_storage(const struct control *ctl, json_t **out, struct err *e)
{
	return list_sessions(ctl, ctl->provider.ops->storage_list, out, e);
}

int
inventory_drop_storage(const struct control *ctl, const char *sandbox,
    const char *session, struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->storage_drop(p, sandbox, session, e);
}

int
inventory_sockets(const struct control *ctl, json_t **out, struct err *e)
{
	auto_free struct agent_file *files = NULL;
	size_t count = 0;

	*out = NULL;
	if (agent_sockets(ctl->conf, &files, &count, e) < 0)
		return -1;
	*out = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(*out,
		    json_pack("{s:s, s:s, s:I}", "name", files[i].name,
			"session", files[i].life.session, "generation",
			(json_int_t)files[i].life.generation));
	return 0;
}

void
inventory_drop_socket(const struct control *ctl, const char *name)
{
	struct agent_file f = { 0 };

	str_copy(f.name, sizeof(f.name), name);
	agent_unlink_socket(ctl->conf, &f);
}

/* ---- snapshots and trash */

int
inventory_snapshots(const struct control *ctl, json_t **out, struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_free struct snapshot_ref *seen = NULL;
	size_t count = 0;

	*out = NULL;
	if (p->ops->snapshot_list(p, &seen, &count, e) < 0)
		return -1;
	*out = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(*out,
		    json_pack("{s:s, s:s}", "owner", seen[i].owner, "id",
			seen[i].id));
	return 0;
}

int
inventory_drop_snapshot(const struct control *ctl, const char *owner,
    const char *id, struct err *e)
{
	const struct provider *p = &ctl->provider;
	struct snapshot_ref ref = { 0 };

	str_copy(ref.owner, sizeof(ref.owner), owner);
	str_copy(ref.id, sizeof(ref.id), id);
	return p->ops->snapshot_drop(p, &ref, e);
}

int
inventory_sweep_trash(const struct control *ctl, int64_t deadline_ms,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	bool left;

	return p->ops->sweep(p, deadline_ms, &left, e);
}
