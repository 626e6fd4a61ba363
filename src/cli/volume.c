/* volume.c: a directory of ours that a session works on. */
#include "cli/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/show.h"
#include "cli/tree.h"
#include "common/mem.h"

#define THEIRS ".from-session"

/* ---- what is meant */

int
volume_parse(const char *spec, struct volume *v, struct err *e)
{
	auto_free char *copy = xstrdup(spec);
	char *colon = strchr(copy, ':'), *mode = NULL;
	struct stat st;

	if (colon != NULL) {
		*colon++ = '\0';
		mode = strchr(colon, ':');
	}
	if (mode != NULL)
		*mode++ = '\0';
	if (copy[0] == '\0' || (colon != NULL && colon[0] != '/') ||
	    (mode != NULL && !str_equal(mode, "ro") && !str_equal(mode, "rw")))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--volume takes DIR, DIR:/PATH or DIR:/PATH:ro, not \"%.80s\"",
		    spec);
	if (stat(copy, &st) < 0)
		return err_errno(e, "%.150s", copy);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--volume takes a directory, and %.100s is none; --file copies a file",
		    copy);
	v->here = xstrdup(copy);
	v->there = xstrdup(colon != NULL ? colon : "/workspace");
	v->read_only = mode != NULL && str_equal(mode, "ro");
	return 0;
}

void
volume_free(struct volume *v)
{
	free(v->here);
	free(v->there);
	json_decref(v->ours);
	json_decref(v->before);
	*v = (struct volume){ 0 };
}

int
volume_send(struct copy *k, struct volume *v, struct err *e)
{
	v->ours = json_object();
	v->before = json_object();
	if (!v->read_only && tree_here(v->here, v->ours, e) < 0)
		return -1;
	if (copy_tree_up(k, v->here, v->there, e) < 0)
		return err_wrap(e, "%.100s", v->here);
	return v->read_only ? 0 : tree_there(k, v->there, v->before, e);
}

/* ---- back */

struct merge {
	const struct volume *volume;
	int root, draft; /* directories: ours, and the session's copy beside */
	int conflicts;
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Paths of a listing that the other has not or has otherwise, sorted; with
 * `types` only those that it has not or that are another kind of entry there.
 */
static char **
differences(const json_t *listing, const json_t *other, bool types,
    size_t *count)
{
	char **paths = xcalloc(json_object_size(listing) + 1, sizeof(*paths));
	void *iter = json_object_iter((json_t *)(uintptr_t)listing);

	*count = 0;
	for (; iter != NULL;
	     iter = json_object_iter_next((json_t *)(uintptr_t)listing, iter)) {
		const char *path = json_object_iter_key(iter);
		const json_t *now = json_object_iter_value(iter);
		const json_t *then = json_object_get(other, path);

		if (then == NULL ||
		    (types ? json_string_value(now)[0] !=
				json_string_value(then)[0]
			   : !json_equal(now, then)))
			paths[(*count)++] = xstrdup(path);
	}
	qsort(paths, *count, sizeof(*paths), by_name);
	return paths;
}

static void
free_paths(char **paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
}

static void
name_conflict(struct merge *m, const char *path, const char *what)
{
	auto_free char *text =
	    xasprintf("conflict: %s/%s %s", m->volume->here, path, what);

	m->conflicts++;
	show_problem(text);
}

/* True while our entry is as it was when it was copied in. */
static bool
is_unchanged(const struct merge *m, const char *path, int parent,
    const char *base)
{
	const json_t *then = json_object_get(m->volume->ours, path);
	auto_free char *now = tree_entry(parent, base);

	if (now == NULL || then == NULL)
		return now == NULL && then == NULL;
	return str_equal(now, json_string_value(then));
}

static void
remove_ours(struct merge *m, const char *path)
{
	const char *base;
	auto_fd int parent = tree_parent(m->root, path, &base);
	auto_free char *now = parent >= 0 ? tree_entry(parent, base) : NULL;

	if (now == NULL)
		return;
	if (!is_unchanged(m, path, parent, base))
		name_conflict(m, path,
		    "was removed in the session and changed here: it is kept");
	else if (unlinkat(parent, base, now[0] == 'd' ? AT_REMOVEDIR : 0) == 0)
		json_object_del(m->volume->ours, path);
	else
		name_conflict(m, path,
		    errno == ENOTEMPTY
			? "was removed in the session, but has files of yours"
			: "was removed in the session, and cannot be here");
}

static void
take_directory(struct merge *m, const char *path, int parent, const char *base)
{
	const char *draft_base;
	auto_fd int draft = tree_parent(m->draft, path, &draft_base);
	auto_free char *now = tree_entry(parent, base);
	struct stat st;

	if (draft < 0 || fstatat(draft, draft_base, &st, AT_SYMLINK_NOFOLLOW))
		return; /* it went between the listing and the copy */
	if (now != NULL && now[0] != 'd') {
		name_conflict(m, path,
		    "is a directory in the session, but not here");
		return;
	}
	if (now == NULL && mkdirat(parent, base, 0700) < 0) {
		name_conflict(m, path, "cannot be made here");
		return;
	}
	(void)!fchmodat(parent, base, st.st_mode & 0777, 0);
}

static void
take_file(struct merge *m, const char *path, int parent, const char *base)
{
	const char *draft_base;
	auto_fd int draft = tree_parent(m->draft, path, &draft_base);
	auto_free char *beside = xasprintf("%s%s", base, THEIRS);

	if (draft < 0 ||
	    faccessat(draft, draft_base, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (is_unchanged(m, path, parent, base)) {
		if (renameat(draft, draft_base, parent, base) < 0)
			name_conflict(m, path, strerror(errno));
		return;
	}
	(void)renameat(draft, draft_base, parent, beside);
	name_conflict(m, path,
	    "was changed here and in the session: yours is kept, the other is beside it, " THEIRS);
}

static void
take_theirs(struct merge *m, const char *path, char type)
{
	const char *base;
	auto_fd int parent = tree_parent(m->root, path, &base);

	if (parent < 0)
		name_conflict(m, path, "has no directory here any more");
	else if (type == 'd')
		take_directory(m, path, parent, base);
	else if (type != 'o')
		take_file(m, path, parent, base);
}

static int
fetch_draft(struct copy *k, struct merge *m, const char *dir, struct err *e)
{
	if (copy_tree_down(k, m->volume->there, dir, e) < 0)
		return -1;
	m->root = open(m->volume->here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->draft = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->root < 0 || m->draft < 0)
		return err_errno(e, "%.150s", m->volume->here);
	return 0;
}

/* Entries that went, innermost first; then those that came, outermost first. */
static void
merge(struct merge *m, const json_t *after, char **gone, size_t gone_count,
    char **changed, size_t changed_count)
{
	for (size_t i = gone_count; i > 0; i--)
		remove_ours(m, gone[i - 1]);
	for (size_t i = 0; i < changed_count; i++)
		take_theirs(m, changed[i],
		    json_string_value(json_object_get(after, changed[i]))[0]);
}

int
volume_fetch(struct copy *k, const struct volume *v, int *conflicts,
    struct err *e)
{
	auto_free char *draft = xasprintf("%s/.sandlease-XXXXXX", v->here);
	auto_json json_t *after = json_object();
	struct merge m = { .volume = v, .root = -1, .draft = -1 };
	size_t gone_count, changed_count;
	char **gone, **changed;
	int rc = 0;

	if (v->read_only)
		return 0;
	if (tree_there(k, v->there, after, e) < 0)
		return -1;
	gone = differences(v->before, after, true, &gone_count);
	changed = differences(after, v->before, false, &changed_count);
	if (gone_count + changed_count > 0) {
		/* in the directory itself: a rename must not cross disks */
		if (mkdtemp(draft) == NULL)
			rc = err_errno(e, "%.150s", v->here);
		else
			rc = fetch_draft(k, &m, draft, e);
		if (rc == 0)
			merge(&m, after, gone, gone_count, changed,
			    changed_count);
		copy_remove_tree(draft);
	}
	mem_close_fd(&m.root);
	mem_close_fd(&m.draft);
	free_paths(gone, gone_count);
	free_paths(changed, changed_count);
	*conflicts += m.conflicts;
	return rc;
}
