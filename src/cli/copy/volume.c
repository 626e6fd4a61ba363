/* volume.c: copies a local directory into a session, and the changes back. */
#include "cli/copy/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/copy/tree.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/utf8.h"

#define THEIRS ".from-session"

enum { BESIDE_MAX = 999 }; /* files NAME.from-session.N of one name */

/* ---- the option */

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
	for (size_t n = strlen(v->there); n > 1 && v->there[n - 1] == '/'; n--)
		v->there[n - 1] = '\0';
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

static bool
is_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return str_starts(path, dir) &&
	    (dir[len - 1] == '/' || path[len] == '\0' || path[len] == '/');
}

bool
volume_overlaps(const struct volume *v, const struct volume *other)
{
	return is_in(v->there, other->there) || is_in(other->there, v->there);
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
	int root, temp; /* directories: volume->here, and the temporary one
			   with the session's files */
	int conflicts;
	int missed; /* entries that could not be copied back at all */
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef bool pick_fn(const char *path, const char *text, const json_t *other);

static bool
is_changed(const char *path, const char *text, const json_t *before)
{
	return !tree_is_as_there(path, text, before);
}

/* An entry of another type that has the same name counts as another one. */
static bool
is_gone(const char *path, const char *text, const json_t *after)
{
	return json_str(after, path)[0] != text[0];
}

/* The paths of `listing` for which `pick` returns true, sorted. */
static char **
pick_paths(const json_t *listing, pick_fn *pick, const json_t *other,
    size_t *count)
{
	char **paths = xcalloc(json_object_size(listing) + 1, sizeof(*paths));
	void *iter = json_object_iter((json_t *)(uintptr_t)listing);

	*count = 0;
	for (; iter != NULL;
	     iter = json_object_iter_next((json_t *)(uintptr_t)listing, iter)) {
		const char *path = json_object_iter_key(iter);

		if (pick(path, json_string_value(json_object_iter_value(iter)),
			other))
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
print_conflict(struct merge *m, const char *path, const char *what)
{
	auto_free char *text =
	    xasprintf("conflict: %s/%s %s", m->volume->here, path, what);

	m->conflicts++;
	show_problem(text);
}

/* The same for an entry of the session that cannot be put here. */
static void
print_missed(struct merge *m, const char *path, const char *what)
{
	m->missed++;
	print_conflict(m, path, what);
}

/* True if our entry is the same as when it was copied to the session. */
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
		print_conflict(m, path,
		    "was removed in the session and changed here: it is kept");
	else if (unlinkat(parent, base, now[0] == 'd' ? AT_REMOVEDIR : 0) == 0)
		json_object_del(m->volume->ours, path);
	else
		print_conflict(m, path,
		    errno == ENOTEMPTY
			? "was removed in the session, but has local files"
			: "was removed in the session, but cannot be removed here");
}

/* set_mode() sets its permissions later, because they may forbid writing. */
static void
make_directory(struct merge *m, const char *path, int parent, const char *base)
{
	auto_free char *now = tree_entry(parent, base);

	if (now != NULL && now[0] != 'd')
		print_missed(m, path,
		    "is a directory in the session, but not here");
	else if (now == NULL && mkdirat(parent, base, 0700) < 0)
		print_missed(m, path, "cannot be made here");
}

/* Sets the permissions of a directory; `text` is its text in the listing. */
static void
set_mode(struct merge *m, const char *path, const char *text)
{
	const char *base;
	auto_fd int parent = tree_parent(m->root, path, &base);
	auto_free char *now = parent >= 0 ? tree_entry(parent, base) : NULL;

	if (now == NULL || now[0] != 'd')
		return; /* make_directory() has printed the conflict */
	if (fchmodat(parent, base, (mode_t)strtoul(text + 2, NULL, 8), 0) < 0)
		print_missed(m, path,
		    "cannot get the permissions that it has in the session");
}

/* "NAME.from-session", "NAME.from-session.2" and so on. */
static char *
name_beside(const char *base, int number)
{
	char end[sizeof(THEIRS) + 16] = THEIRS;
	size_t room;

	if (number > 1)
		snprintf(end, sizeof(end), "%s.%d", THEIRS, number);
	room = NAME_MAX - strlen(end);
	if (strlen(base) < room)
		room = strlen(base);
	return xasprintf("%.*s%s", (int)utf8_whole(base, room), base, end);
}

/* Puts the session's file beside ours under another name; `why` says why. */
static void
put_beside(struct merge *m, const char *path, int parent, int temp,
    const char *base, const char *why)
{
	auto_free char *text = NULL;

	for (int number = 1; number <= BESIDE_MAX; number++) {
		auto_free char *beside = name_beside(base, number);
		auto_free char *done =
		    xasprintf("%s: yours is kept, the session's is %s", why,
			beside);

		if (renameat2(temp, base, parent, beside, RENAME_NOREPLACE) ==
		    0) {
			print_conflict(m, path, done);
			return;
		}
		if (errno != EEXIST)
			break;
	}
	text = xasprintf("%s, and the session's cannot be put beside it", why);
	print_missed(m, path, text);
}

static void
move_file_here(struct merge *m, const char *path, int parent, const char *base)
{
	const char *temp_base;
	auto_fd int temp = tree_parent(m->temp, path, &temp_base);
	auto_free char *why = NULL;

	/* nothing can be moved out of a read-only directory */
	if (temp < 0 || fchmod(temp, 0700) < 0) {
		print_missed(m, path, "cannot be moved here");
		return;
	}
	if (!is_unchanged(m, path, parent, base))
		why = xstrdup("was changed here and in the session");
	else if (renameat(temp, temp_base, parent, base) < 0)
		why = xasprintf("cannot be written here (%s)", strerror(errno));
	if (why != NULL)
		put_beside(m, path, parent, temp, base, why);
}

static void
copy_entry_back(struct merge *m, const char *path, char type)
{
	const char *base;
	auto_fd int parent = tree_parent(m->root, path, &base);

	if (parent < 0)
		print_missed(m, path, "has no directory here any more");
	else if (type == 'd')
		make_directory(m, path, parent, base);
	else
		move_file_here(m, path, parent, base);
}

static int
fetch_temp(struct copy *k, struct merge *m, const char *dir, json_t *after,
    struct err *e)
{
	if (copy_tree_down(k, m->volume->there, dir, e) < 0)
		return -1;
	m->root = open(m->volume->here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->temp = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->root < 0 || m->temp < 0)
		return err_errno(e, "%.150s", m->volume->here);
	return tree_here(dir, after, e);
}

/*
 * Removes entries that are gone in the session, innermost first; then adds new
 * and changed ones, outermost first; then sets the permissions of directories,
 * innermost first.
 */
static void
merge_changes(struct merge *m, const json_t *after)
{
	size_t gone_count, changed_count;
	char **gone = pick_paths(m->volume->ours, is_gone, after, &gone_count);
	char **changed =
	    pick_paths(after, is_changed, m->volume->before, &changed_count);

	for (size_t i = gone_count; i > 0; i--)
		remove_ours(m, gone[i - 1]);
	for (size_t i = 0; i < changed_count; i++)
		copy_entry_back(m, changed[i], json_str(after, changed[i])[0]);
	for (size_t i = changed_count; i > 0; i--)
		if (json_str(after, changed[i - 1])[0] == 'd')
			set_mode(m, changed[i - 1],
			    json_str(after, changed[i - 1]));
	free_paths(gone, gone_count);
	free_paths(changed, changed_count);
}

/* A listing is much smaller than the files.  The service may refuse it if it is
 * too long; then false, and the files are compared. */
static bool
nothing_changed(struct copy *k, const struct volume *v)
{
	auto_json json_t *now = json_object();
	struct err ignored = { 0 };

	return tree_there(k, v->there, now, &ignored) == 0 &&
	    tree_is_same(v->before, now);
}

int
volume_fetch(struct copy *k, const struct volume *v, int *conflicts,
    struct err *e)
{
	/* in v->here, because rename() cannot cross file systems */
	auto_free char *temp = xasprintf("%s/.sandlease-XXXXXX", v->here);
	auto_json json_t *after = json_object();
	struct merge m = { .volume = v, .root = -1, .temp = -1 };
	int rc;

	if (v->read_only || nothing_changed(k, v))
		return 0;
	if (mkdtemp(temp) == NULL)
		return err_errno(e, "%.150s", v->here);
	rc = fetch_temp(k, &m, temp, after, e);
	if (rc == 0)
		merge_changes(&m, after);
	copy_remove_tree(temp);
	mem_close_fd(&m.root);
	mem_close_fd(&m.temp);
	*conflicts += m.conflicts;
	if (m.missed > 0)
		rc = err_set(e, ERR_CONFLICT, CODE_FAILED,
		    "the entries named above are only in the session");
	return rc;
}
