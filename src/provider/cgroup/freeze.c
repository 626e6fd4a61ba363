/* freeze.c: the control files that freeze a cell, and thawing all cells. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

enum { STATE_MAX = 4096 };

/* The path of a cell's control file; NULL when no hierarchy has it. */
static char *
find_file(const struct cgroup_tree *t, const char *name, const char *session,
    const char *file)
{
	for (size_t i = 0; i < t->count; i++) {
		char *path = xasprintf("%s/box/%s/s-%s/%s", t->at[i].dir, name,
		    session, file);

		if (access(path, F_OK) == 0)
			return path;
		mem_free_ptr(&path);
	}
	return NULL;
}

int
cgroup_cell_freezer(const struct cgroup_tree *t, const char *name,
    const char *session, struct err *e)
{
	auto_free char *path = NULL;
	int fd;

	if (t->count > 0)
		path = find_file(t, name, session, t->ops->freezer);
	if (path == NULL)
		return err_set(e, ERR_CONFLICT, CODE_CANNOT_SUSPEND,
		    "this machine cannot freeze a session: it needs a delegated cgroup with the freezer");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 ? fd : err_errno(e, "%s", path);
}

int
cgroup_cell_frozen(const struct cgroup_tree *t, const char *name,
    const char *session, bool *out, struct err *e)
{
	auto_free char *path = NULL;
	auto_buf struct buf text = { 0 };
	bool found;

	*out = false;
	if (t->count > 0)
		path = find_file(t, name, session, t->ops->state);
	if (path == NULL)
		return 0;
	if (file_read(AT_FDCWD, path, STATE_MAX, &found, &text, e) < 0)
		return -1;
	*out = found && strstr(text.data, t->ops->is_frozen) != NULL;
	return 0;
}

/* Each cell by itself: a frozen group does not thaw with its parent. */
static int
thaw_cells_in(const struct cgroup_tree *t, const char *box, struct err *e)
{
	auto_names char **names = NULL;

	if (file_names(AT_FDCWD, box, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		auto_free char *cell = xasprintf("%s/%s", box, *n);

		/* ENOENT, ENODEV: the cell was removed meanwhile */
		if (str_starts(*n, "s-") &&
		    t->ops->freeze(cell, false, e) < 0 && errno != ENOENT &&
		    errno != ENODEV)
			return -1;
	}
	return 0;
}

int
cgroup_thaw_cells(const struct cgroup_tree *t, const char *name, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *box =
		    xasprintf("%s/box/%s", t->at[i].dir, name);

		if (thaw_cells_in(t, box, e) < 0)
			return -1;
	}
	return 0;
}
