/* parts.c: lists the files and cgroups of sessions on this host. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/local/local.h"
#include "provider/store/storage.h"

struct session_list {
	struct session_seen *seen;
	size_t count;
};

/*
 * Opens a box.  `id` is the sandbox's raw id, "" if the box is missing, has no
 * label yet or belongs to another installation.
 */
static int
open_ours(const struct provider *p, const char *name, struct box *b,
    char id[SANDBOX_ID_MAX], struct err *e)
{
	bool ours;

	id[0] = '\0';
	if (box_open(p, name, b, e) < 0)
		return -1;
	if (b->dir < 0)
		return 0;
	if (box_label(p, b, &ours, id, e) < 0)
		return -1;
	if (!ours)
		id[0] = '\0';
	return 0;
}

/* Adds the sessions of the names that are `prefix` and a session's id. */
static void
add_sessions(struct session_list *l, const char *sandbox, char **names,
    const char *prefix)
{
	for (char **n = names; *n != NULL; n++) {
		const char *session =
		    str_starts(*n, prefix) ? *n + strlen(prefix) : "";

		if (!id_is_session(session))
			continue;
		/* full when the count is a power of two: double it */
		if ((l->count & (l->count - 1)) == 0)
			l->seen = xrealloc(l->seen,
			    (l->count > 0 ? 2 * l->count : 1) *
				sizeof(*l->seen));
		str_copy(l->seen[l->count].sandbox, SANDBOX_ID_MAX, sandbox);
		str_copy(l->seen[l->count++].session, ID_MAX, session);
	}
}

int
local_storage_list(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e)
{
	auto_names char **boxes = NULL;
	struct session_list l = { 0 };
	int rc = storage_boxes(p, &boxes, e);

	for (char **n = boxes; rc == 0 && *n != NULL; n++) {
		auto_names char **sessions = NULL;
		auto_box struct box b = BOX_CLOSED;
		char id[SANDBOX_ID_MAX];

		if (!box_is_name(*n))
			continue;
		rc = open_ours(p, *n, &b, id, e);
		if (rc < 0 || id[0] == '\0')
			continue;
		rc = storage_sessions(p, *n, &sessions, e);
		if (rc == 0) {
			add_sessions(&l, id, sessions, "");
			add_sessions(&l, id, sessions, STORAGE_COPY);
		}
	}
	*out = l.seen;
	*count = rc == 0 ? l.count : 0;
	return rc;
}

int
local_cell_list(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e)
{
	auto_names char **boxes = NULL;
	struct session_list l = { 0 };
	size_t all;
	int rc = local_names(p, &boxes, &all, e);

	for (char **n = boxes; rc == 0 && *n != NULL; n++) {
		auto_names char **groups = NULL;
		auto_box struct box b = BOX_CLOSED;
		char id[SANDBOX_ID_MAX];
		struct cgroup_tree t;

		rc = open_ours(p, *n, &b, id, e);
		if (rc < 0 || id[0] == '\0')
			continue;
		/* not cgroup_find(): started by cron we are in other groups */
		rc = box_cgroups(p, &b, &t, e);
		if (rc == 0)
			rc = cgroup_cells(&t, b.name, &groups, e);
		if (rc == 0)
			add_sessions(&l, id, groups, CGROUP_CELL_PREFIX);
	}
	*out = l.seen;
	*count = rc == 0 ? l.count : 0;
	return rc;
}

int
local_sweep_groups(const struct provider *p, int64_t deadline_ms, struct err *e)
{
	auto_names char **names = NULL;
	struct cgroup_tree t;

	if (cgroup_find(p->conf->cgroup_root, &t, e) < 0 ||
	    cgroup_names(&t, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		auto_box struct box b = BOX_CLOSED;
		size_t count = 0;

		if (!box_is_name(*n))
			continue;
		if (box_open(p, *n, &b, e) < 0)
			return -1;
		if (b.dir >= 0)
			continue; /* stop or destroy removes the group */
		if (cgroup_count(&t, *n, NULL, &count, e) < 0 ||
		    (count == 0 &&
			cgroup_remove(&t, *n, NULL, deadline_ms, e) < 0))
			return -1;
	}
	return 0;
}
