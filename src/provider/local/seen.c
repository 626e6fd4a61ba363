/* seen.c: finds out which sandboxes run or have files on this host. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/box/gone.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/local/local.h"
#include "provider/store/storage.h"

/* Whether bwrap or init on record runs; those of another boot are gone. */
static int
recorded_runs(const struct provider *p, const struct box *b, bool *out,
    struct err *e)
{
	struct box_proc pr;

	*out = false;
	if (box_proc(b, &pr, e) < 0)
		return -1;
	if (!str_equal(pr.boot_id, p->boot_id))
		return 0;
	if (proc_lives(&pr.init, out, e) < 0)
		return -1;
	return *out ? 0 : proc_lives(&pr.bwrap, out, e);
}

int
local_runs(const struct provider *p, const struct box *b, bool *out,
    struct err *e)
{
	struct cgroup_tree t;
	size_t count;
	bool held;

	*out = true;
	if (box_cgroups(p, b, &t, e) < 0 ||
	    cgroup_count(&t, b->name, NULL, &count, e) < 0)
		return -1;
	if (count > 0)
		return 0;
	*out = false;
	if (b->dir < 0)
		return 0;
	if (recorded_runs(p, b, out, e) < 0)
		return -1;
	if (*out)
		return 0;
	/* a start has not recorded its pid yet, or the record is lost */
	if (box_held(b, &held, e) < 0)
		return -1;
	if (held)
		return err_set(e, ERR_BUSY, CODE_SANDBOX_BUSY,
		    "an unknown process holds the lock of sandbox %s", b->name);
	return 0;
}

int
local_may_run(const struct provider *p, const struct box *b, bool *out,
    struct err *e)
{
	if (local_runs(p, b, out, e) == 0)
		return 0;
	*out = true;
	return e->kind == ERR_BUSY ? 0 : -1;
}

static int
look_in_box(const struct provider *p, const struct box *b,
    struct sandbox_seen *out, struct err *e)
{
	struct record r;
	bool runs, files;

	if (box_record(b, &r, e) < 0)
		return -1;
	if (r.state != RECORD_DESTROYED)
		memcpy(out->incarnation, r.incarnation,
		    sizeof(out->incarnation));
	if (local_runs(p, b, &runs, e) < 0)
		return -1;
	if (runs) {
		/* processes may run in spite of a tombstone */
		memcpy(out->incarnation, r.incarnation,
		    sizeof(out->incarnation));
		out->presence = PRESENCE_RUNNING;
		out->unanswered = r.state == RECORD_STARTING;
		return 0;
	}
	if (storage_box_exists(p, b->name, &files, e) < 0)
		return -1;
	out->presence =
	    files || (r.state != RECORD_NONE && r.state != RECORD_DESTROYED)
	    ? PRESENCE_STOPPED
	    : PRESENCE_ABSENT;
	return 0;
}

/* *ours is false when the box has another installation's label. */
static int
look_at_sandbox(const struct provider *p, const char *id,
    struct sandbox_seen *out, bool *ours, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	char raw[SANDBOX_ID_MAX] = "";

	*out = (struct sandbox_seen){ .presence = PRESENCE_UNKNOWN };
	*ours = true;
	if (!str_copy(out->id, sizeof(out->id), id))
		return err_set(e, ERR_INTERNAL, CODE_BAD_SANDBOX_ID,
		    "the sandbox's id is too long");
	if (box_open(p, id, &b, e) < 0)
		return -1;
	if (b.dir >= 0 && box_label(p, &b, ours, raw, e) < 0)
		return -1;
	if (!*ours) {
		out->presence = PRESENCE_ABSENT;
		return 0;
	}
	if (raw[0] != '\0')
		memcpy(out->id, raw, sizeof(out->id));
	return look_in_box(p, &b, out, e);
}

/* Returns 0 even after an error: the presence is then PRESENCE_UNKNOWN. */
int
local_inspect(const struct provider *p, const char *id,
    struct sandbox_seen *out, struct err *e)
{
	bool ours;

	if (look_at_sandbox(p, id, out, &ours, e) < 0)
		out->presence = PRESENCE_UNKNOWN;
	str_copy(out->id, sizeof(out->id), id);
	return 0;
}

static int
compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/*
 * Appends those names that are sandboxes' to an array that grows; without those
 * in `gone`, which may be NULL.
 */
static void
add_box_names(char **from, const struct gone_list *gone, char ***to,
    size_t *count)
{
	for (char **n = from; *n != NULL; n++) {
		if (!box_is_name(*n) || (gone != NULL && gone_has(gone, *n)))
			continue;
		*to = xrealloc(*to, (*count + 2) * sizeof(**to));
		(*to)[(*count)++] = xstrdup(*n);
		(*to)[*count] = NULL;
	}
}

/* Drops repeats from a sorted array that ends with NULL; returns its length. */
static size_t
drop_repeats(char **names, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n > 0 && str_equal(names[i], names[n - 1]))
			free(names[i]);
		else
			names[n++] = names[i];
	}
	names[n] = NULL;
	return n;
}

int
local_names(const struct provider *p, char ***out, size_t *count, struct err *e)
{
	auto_free char *path = xasprintf("%s/box", p->conf->state_dir);
	auto_names char **boxes = NULL, **stores = NULL, **groups = NULL;
	auto_gone struct gone_list gone = { 0 };
	struct cgroup_tree t;

	*count = 0;
	*out = xcalloc(1, sizeof(**out));
	if (gone_list(p, &gone, e) < 0 ||
	    file_names(AT_FDCWD, path, &boxes, e) < 0 ||
	    storage_boxes(p, &stores, e) < 0 ||
	    cgroup_find(p->conf->cgroup_root, &t, e) < 0 ||
	    cgroup_names(&t, &groups, e) < 0)
		return -1;
	add_box_names(boxes, &gone, out, count);
	add_box_names(stores, NULL, out, count);
	add_box_names(groups, NULL, out, count);
	qsort(*out, *count, sizeof(**out), compare_names);
	*count = drop_repeats(*out, *count);
	return 0;
}

int
local_list(const struct provider *p, struct sandbox_seen **out, size_t *count,
    struct err *e)
{
	auto_names char **names = NULL;
	auto_free struct sandbox_seen *seen = NULL;
	size_t all, n = 0;

	*out = NULL;
	*count = 0;
	if (local_names(p, &names, &all, e) < 0)
		return -1;
	seen = xcalloc(all, sizeof(*seen));
	for (size_t i = 0; i < all; i++) {
		struct err unknown; /* of this sandbox; the list goes on */
		bool ours;

		if (look_at_sandbox(p, names[i], &seen[n], &ours, &unknown) < 0)
			seen[n].presence = PRESENCE_UNKNOWN;
		if (ours && seen[n].presence != PRESENCE_ABSENT)
			n++;
	}
	*out = TAKE(seen);
	*count = n;
	return 0;
}
