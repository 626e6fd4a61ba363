/* cgroup.c: makes, limits, lists and removes the cgroups of sandboxes. */
#include "provider/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

enum {
	MIB = 1024 * 1024,
	QUOTA_US_PER_MILLI = 100, /* the period is 100 ms */
	/* left to init, bwrap and other cells by a cell that is at its limit */
	HEADROOM_MB = 32,
	HEADROOM_PIDS = 16,
	HEADROOM_PIDS_SHARE = 8,
	/* left to the host by all sandboxes together */
	HOST_MB = 512,
	HOST_MEMORY_SHARE = 8,
	HOST_PIDS_SHARE = 4,
	PIDS_TEXT_MAX = 32
};

/* How often was_removed() looks, and its pause between two looks. */
enum { DYING_LOOKS = 25, DYING_NS = 2000000 };

const char *const CGROUP_CONTROLLER_NAMES[] = { [CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_FREEZER] = "freezer",
	[CGROUP_CPU] = "cpu" };
_Static_assert(ARRAY_LEN(CGROUP_CONTROLLER_NAMES) == CGROUP__MAX,
    "every controller has a name");

/* Without delegated groups a tree has no hierarchies: no function is called. */
const struct cgroup_ops CGROUP_NONE = { .name = "none" };

bool
cgroup_holds(const struct cgroup_tree *t, enum cgroup_controller c)
{
	for (size_t i = 0; i < t->count; i++)
		if ((t->at[i].controllers & (1U << c)) != 0)
			return true;
	return false;
}

struct cgroup_limits
cgroup_cell_limits(const struct sandbox_spec *s)
{
	/* no CGROUP_CPU: cells share the processor time of their sandbox */
	return (struct cgroup_limits){ .number = {
					   [CGROUP_MEMORY] = s->memory_mb * MIB,
					   [CGROUP_PIDS] = s->pids,
				       } };
}

struct cgroup_limits
cgroup_box_limits(const struct sandbox_spec *s)
{
	struct cgroup_limits l = cgroup_cell_limits(s);

	if (s->memory_mb > 0)
		l.number[CGROUP_MEMORY] += (int64_t)HEADROOM_MB * MIB;
	if (s->pids > 0)
		l.number[CGROUP_PIDS] +=
		    HEADROOM_PIDS + s->pids / HEADROOM_PIDS_SHARE;
	l.number[CGROUP_CPU] = s->cpu_millis * QUOTA_US_PER_MILLI;
	return l;
}

static char *
box_path(const struct cgroup_hierarchy *h, const char *name)
{
	return xasprintf("%s/box/%s", h->dir, name);
}

static char *
cell_path(const struct cgroup_hierarchy *h, const char *name,
    const char *session)
{
	return xasprintf("%s/box/%s/s-%s", h->dir, name, session);
}

static int
make_dir(const char *path, struct err *e)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "mkdir %s", path);
	return 0;
}

static int
set_limits(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *dir, const struct cgroup_limits *l, struct err *e)
{
	for (size_t i = 0; i < t->ops->row_count; i++) {
		const struct cgroup_row *r = &t->ops->rows[i];
		auto_free char *path = NULL, *text = NULL;

		if ((h->controllers & (1U << r->controller)) == 0 ||
		    l->number[r->controller] <= 0)
			continue;
		path = xasprintf("%s/%s", dir, r->file);
		text = r->always != NULL ? xstrdup(r->always)
					 : xasprintf("%" PRId64 "%s",
					       l->number[r->controller] /
						   (r->part > 0 ? r->part : 1),
					       r->suffix);
		if (file_put(path, text, e) < 0 &&
		    !(r->optional && errno == ENOENT))
			return -1;
	}
	return 0;
}

int
cgroup_group_make(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *dir, const struct cgroup_limits *l, struct err *e)
{
	return make_dir(dir, e) < 0 ? -1 : set_limits(t, h, dir, l, e);
}

static int
make_box_in(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *name, const struct cgroup_limits *l, struct err *e)
{
	auto_free char *all = xasprintf("%s/box", h->dir);
	auto_free char *box = box_path(h, name);
	auto_free char *leaf = xasprintf("%s%s", box, t->ops->leaf);

	if (t->ops->prepare(h->dir, h->controllers, e) < 0 ||
	    make_dir(all, e) < 0 ||
	    t->ops->prepare(all, h->controllers, e) < 0 ||
	    cgroup_group_make(t, h, box, l, e) < 0 ||
	    t->ops->prepare(box, h->controllers, e) < 0)
		return -1;
	return t->ops->leaf[0] == '\0' ? 0 : make_dir(leaf, e);
}

int
cgroup_make(const struct cgroup_tree *t, const char *name,
    const struct sandbox_spec *s, struct err *e)
{
	struct cgroup_limits l = cgroup_box_limits(s);

	for (size_t i = 0; i < t->count; i++)
		if (make_box_in(t, &t->at[i], name, &l, e) < 0)
			return err_wrap(e, "cgroup");
	return 0;
}

struct cgroup_limits
cgroup_all_limits(int64_t memory_bytes, int64_t pids)
{
	const int64_t least = (int64_t)HOST_MB * MIB;
	int64_t keep = memory_bytes / HOST_MEMORY_SHARE;

	if (keep < least)
		keep = least < memory_bytes / 2 ? least : memory_bytes / 2;
	return (struct cgroup_limits){
		.number = { [CGROUP_MEMORY] = memory_bytes - keep,
		    [CGROUP_PIDS] = pids - pids / HOST_PIDS_SHARE }
	};
}

/* The number in a file; 0, which means no limit, if it cannot be read. */
static int64_t
read_number(const char *path)
{
	auto_buf struct buf text = { 0 };
	struct err ignored;
	int64_t n = 0;
	bool found;

	if (file_read(AT_FDCWD, path, PIDS_TEXT_MAX, &found, &text, &ignored) <
		0 ||
	    !found)
		return 0;
	text.data[strcspn(text.data, "\n")] = '\0';
	return str_to_int(text.data, 1, INT64_MAX, &n) ? n : 0;
}

int
cgroup_limit_all(const struct cgroup_tree *t, struct err *e)
{
	int64_t pids = read_number("/proc/sys/kernel/pid_max");
	int64_t threads = read_number("/proc/sys/kernel/threads-max");
	struct cgroup_limits l =
	    cgroup_all_limits((int64_t)sysconf(_SC_PHYS_PAGES) *
		    sysconf(_SC_PAGESIZE),
		threads > 0 && threads < pids ? threads : pids);

	for (size_t i = 0; i < t->count; i++) {
		const struct cgroup_hierarchy *h = &t->at[i];
		auto_free char *all = xasprintf("%s/box", h->dir);

		if (t->ops->prepare(h->dir, h->controllers, e) < 0 ||
		    cgroup_group_make(t, h, all, &l, e) < 0)
			return err_wrap(e, "cgroup");
	}
	return 0;
}

int
cgroup_enter(const struct cgroup_tree *t, const char *name, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *box = box_path(&t->at[i], name);
		auto_free char *join =
		    xasprintf("%s%s/%s", box, t->ops->leaf, t->ops->join);

		if (file_put(join, "0", e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Whether the group `dir` was removed while it was being made.  It has no
 * process yet, and cell_gone() removes empty groups when it confirms that the
 * session has stopped.  ENOENT (`why`) alone is no proof: the kernel removes a
 * group's files a moment before the group, so the function waits for the group.
 */
static bool
was_removed(const char *dir, int why)
{
	for (int i = 0; why == ENOENT && i < DYING_LOOKS; i++) {
		if (access(dir, F_OK) < 0 && errno == ENOENT)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = DYING_NS }, NULL);
	}
	return false;
}

int
cgroup_explain_missing(const char *dir, int why, struct err *e)
{
	return was_removed(dir, why) ? err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
					   "the session was stopped meanwhile")
				     : -1;
}

static int
open_cell_in(const struct cgroup_tree *t, const struct cgroup_hierarchy *h,
    const char *dir, const struct cgroup_limits *l, struct err *e)
{
	auto_free char *leaf = xasprintf("%s/" CGROUP_CELL_MAIN, dir);
	auto_free char *join = NULL;

	if (cgroup_group_make(t, h, dir, l, e) == 0) {
		int fd;

		/* left by a generation that had runs */
		join = xasprintf("%s/%s", access(leaf, F_OK) == 0 ? leaf : dir,
		    t->ops->join);
		fd = open(join, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		err_errno(e, "%s", join);
	}
	return cgroup_explain_missing(dir, errno, e);
}

int
cgroup_cell_open(const struct cgroup_tree *t, const char *name,
    const char *session, const struct sandbox_spec *s,
    int fds[PROVIDER_CELL_FDS_MAX], size_t *count, struct err *e)
{
	struct cgroup_limits l = cgroup_cell_limits(s);

	_Static_assert((int)CGROUP__MAX <= (int)PROVIDER_CELL_FDS_MAX,
	    "a descriptor for each hierarchy");
	*count = 0;
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *dir = cell_path(&t->at[i], name, session);
		int fd;

		fd = open_cell_in(t, &t->at[i], dir, &l, e);
		if (fd < 0) {
			while (*count > 0)
				close(fds[--*count]);
			return err_wrap(e, "cgroup");
		}
		fds[(*count)++] = fd;
	}
	return 0;
}

int
cgroup_dir_remove(const char *path, int64_t deadline_ms, struct err *e)
{
	while (rmdir(path) < 0) {
		if (errno == ENOENT)
			return 0;
		/* the kernel may still count a last process that has died */
		if (errno != EBUSY || clock_left_ms(deadline_ms) == 0)
			return err_errno(e, "rmdir %s", path);
		usleep(1000);
	}
	return 0;
}

bool
cgroup_is_ours(const char *name)
{
	return str_equal(name, "init") || str_equal(name, CGROUP_CELL_MAIN) ||
	    str_starts(name, CGROUP_CELL_PREFIX) ||
	    str_starts(name, CGROUP_RUN_PREFIX);
}

/* Removes the group after all below it. */
static int
remove_groups(const char *dir, int64_t deadline_ms, struct err *e)
{
	auto_names char **names = NULL;

	if (rmdir(dir) == 0 || errno == ENOENT)
		return 0; /* most have none below */
	if (file_names(AT_FDCWD, dir, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		auto_free char *below = xasprintf("%s/%s", dir, *n);

		/* control files vanish with the group */
		if (cgroup_is_ours(*n) &&
		    remove_groups(below, deadline_ms, e) < 0)
			return -1;
	}
	return cgroup_dir_remove(dir, deadline_ms, e);
}

int
cgroup_remove(const struct cgroup_tree *t, const char *name,
    const char *session, int64_t deadline_ms, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		auto_free char *path = session != NULL
		    ? cell_path(&t->at[i], name, session)
		    : box_path(&t->at[i], name);

		if (remove_groups(path, deadline_ms, e) < 0)
			return -1;
	}
	return 0;
}

int
cgroup_names(const struct cgroup_tree *t, char ***out, struct err *e)
{
	auto_names char **names = NULL;
	auto_free char *all = NULL;
	size_t kept = 0;

	*out = xcalloc(1, sizeof(**out));
	if (t->count == 0)
		return 0;
	all = xasprintf("%s/box", t->at[0].dir);
	if (file_names(AT_FDCWD, all, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		if (strchr(*n, '-') == NULL || strchr(*n, '.') != NULL)
			continue; /* a control file of the kernel */
		*out = xrealloc(*out, (kept + 2) * sizeof(**out));
		(*out)[kept++] = xstrdup(*n);
		(*out)[kept] = NULL;
	}
	return 0;
}

int
cgroup_cells(const struct cgroup_tree *t, const char *name, char ***out,
    struct err *e)
{
	auto_free char *box = NULL;

	if (t->count == 0) {
		*out = xcalloc(1, sizeof(**out));
		return 0;
	}
	box = xasprintf("%s/box/%s", t->at[0].dir, name);
	return file_names(AT_FDCWD, box, out, e);
}
