/* find.c: finds the cgroups that the host has delegated to the service. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"

enum { TEXT_MAX = 1024 * 1024, CONTROLLERS_MAX = 512 };

/* One mounted hierarchy, from a line of /proc/self/mountinfo. */
struct mounted {
	bool unified; /* v2 */
	unsigned controllers;
	char root[PROVIDER_PATH_MAX];  /* the group that is mounted */
	char point[PROVIDER_PATH_MAX]; /* the mount point */
};

static unsigned
controllers_in(const char *list, const char *separators)
{
	auto_free char *copy = xstrdup(list);
	char *rest = copy;
	unsigned bits = 0;

	for (char *word; (word = strsep(&rest, separators)) != NULL;)
		for (unsigned c = 0; c < CGROUP__MAX; c++)
			if (str_equal(word, CGROUP_CONTROLLER_NAMES[c]))
				bits |= 1U << c;
	return bits;
}

/*
 * Parses "36 25 0:31 /root /point rw,... shared:9 - cgroup cgroup rw,memory".
 * mountinfo writes a space in a path as \040; the service's mounts have none.
 */
static bool
parse_mount(const char *line, struct mounted *out)
{
	char type[32], options[CONTROLLERS_MAX];
	const char *dash = strstr(line, " - ");

	if (dash == NULL ||
	    sscanf(line, "%*d %*d %*s %511s %511s", out->root, out->point) !=
		2 ||
	    sscanf(dash, " - %31s %*s %511s", type, options) != 2)
		return false;
	out->unified = str_equal(type, "cgroup2");
	out->controllers = out->unified ? 0 : controllers_in(options, ",");
	return out->unified ||
	    (str_equal(type, "cgroup") && out->controllers != 0);
}

/*
 * Finds the path of our own group in that hierarchy, in lines such as
 * "4:memory:/a/b" and "0::/a/b".  False when there is none.
 */
static bool
own_path(const char *groups, const struct mounted *m,
    char out[PROVIDER_PATH_MAX])
{
	auto_free char *copy = xstrdup(groups);
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		char *list = strchr(line, ':');
		char *path = list != NULL ? strchr(list + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		list++;
		if (m->unified
			? *list == '\0'
			: (controllers_in(list, ",") & m->controllers) != 0)
			return str_copy(out, PROVIDER_PATH_MAX, path);
	}
	return false;
}

/*
 * Finds the group that is delegated to the service: the parent of our own,
 * which must be named `api`.  The service keeps its processes in that leaf
 * because v2 forbids processes beside `box`.  False when our own group has
 * another name.
 */
static bool
service_group(const char *groups, const struct mounted *m,
    char out[PROVIDER_PATH_MAX])
{
	char own[PROVIDER_PATH_MAX];
	const char *path = own;
	char *leaf;

	if (!own_path(groups, m, own))
		return false;
	leaf = strrchr(own, '/');
	if (leaf == NULL || leaf == own || !str_equal(leaf, "/api"))
		return false;
	*leaf = '\0';
	if (!str_equal(m->root, "/") && str_starts(path, m->root))
		path += strlen(m->root);
	return str_copy(out, PROVIDER_PATH_MAX, path);
}

/* The controllers that a unified group may hand to its children. */
static unsigned
unified_controllers(const char *dir)
{
	auto_free char *path = xasprintf("%s/cgroup.controllers", dir);
	auto_buf struct buf text = { 0 };
	struct err ignored; /* then there are no controllers */
	bool found;

	if (file_read(AT_FDCWD, path, CONTROLLERS_MAX, &found, &text,
		&ignored) < 0 ||
	    !found)
		return 0;
	return controllers_in(text.data, " \n") | 1U << CGROUP_FREEZER;
}

static bool
is_delegated(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	    access(dir, W_OK | X_OK) == 0;
}

/* Puts the hierarchy of memory first: processes are counted in at[0]. */
static void
sort_hierarchies(struct cgroup_tree *t)
{
	for (size_t i = 1; i < t->count; i++)
		for (size_t k = i; k > 0; k--) {
			struct cgroup_hierarchy h = t->at[k];
			unsigned a = t->at[k - 1].controllers;
			unsigned b = h.controllers;

			if ((a & -a) <= (b & -b))
				break;
			t->at[k] = t->at[k - 1];
			t->at[k - 1] = h;
		}
}

/* Adds the group of a mountinfo line to the tree if it is delegated to us. */
static void
add_if_delegated(const char *line, const char *setting, const char *groups,
    bool unified, struct cgroup_tree *t)
{
	struct mounted m;
	struct cgroup_hierarchy *h;
	char group[PROVIDER_PATH_MAX] = "";
	auto_free char *dir = NULL;

	if (!parse_mount(line, &m) || m.unified != unified)
		return;
	if (!str_equal(setting, "auto"))
		(void)!str_copy(group, sizeof(group), setting);
	else if (!service_group(groups, &m, group))
		return;
	dir = xasprintf("%s%s%s", m.point, group[0] == '/' ? "" : "/", group);
	if (!is_delegated(dir) || t->count == CGROUP__MAX)
		return;
	h = &t->at[t->count];
	if (!str_copy(h->dir, sizeof(h->dir), dir))
		return;
	h->controllers = m.unified ? unified_controllers(dir) : m.controllers;
	t->count++;
}

static void
find_kind(const char *setting, const char *mountinfo, const char *groups,
    bool unified, struct cgroup_tree *t)
{
	auto_free char *copy = xstrdup(mountinfo);
	char *rest = copy;

	t->count = 0;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;)
		add_if_delegated(line, setting, groups, unified, t);
	sort_hierarchies(t);
}

int
cgroup_find_in(const char *setting, const char *mountinfo,
    const char *own_groups, struct cgroup_tree *out, struct err *e)
{
	*out = (struct cgroup_tree){ .ops = &CGROUP_NONE };
	if (str_equal(setting, "none"))
		return 0;
	if (setting[0] == '\0' || strstr(setting, "..") != NULL)
		return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "cgroup_root: must be auto, none or a group's path");
	find_kind(setting, mountinfo, own_groups, false, out);
	if (out->count > 0) {
		out->ops = &CGROUP_V1;
		return 0;
	}
	find_kind(setting, mountinfo, own_groups, true, out);
	if (out->count > 0) {
		out->ops = &CGROUP_V2;
		return 0;
	}
	if (str_equal(setting, "auto"))
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_NO_CGROUP,
	    "cgroup_root: no mounted hierarchy has a group \"%.100s\" that "
	    "this user may write",
	    setting);
}

/*
 * The last answer of cgroup_find().  A process finds its groups once: a host
 * with many mounts has a long mountinfo, and each start of a sandbox asks three
 * times.
 */
static struct {
	char setting[PROVIDER_PATH_MAX];
	struct cgroup_tree tree;
} known;

/* Whether the last answer is for this setting and its groups still serve. */
static bool
is_known(const char *setting)
{
	if (known.tree.count == 0 || !str_equal(known.setting, setting))
		return false;
	for (size_t i = 0; i < known.tree.count; i++)
		if (!is_delegated(known.tree.at[i].dir))
			return false;
	return true;
}

static int
find_now(const char *setting, struct cgroup_tree *out, struct err *e)
{
	auto_buf struct buf mounts = { 0 }, groups = { 0 };
	bool found;

	if (file_read(AT_FDCWD, "/proc/self/mountinfo", TEXT_MAX, &found,
		&mounts, e) < 0 ||
	    file_read(AT_FDCWD, "/proc/self/cgroup", TEXT_MAX, &found, &groups,
		e) < 0)
		return -1;
	return cgroup_find_in(setting, mounts.data != NULL ? mounts.data : "",
	    groups.data != NULL ? groups.data : "", out, e);
}

int
cgroup_find(const char *setting, struct cgroup_tree *out, struct err *e)
{
	if (str_equal(setting, "none"))
		return cgroup_find_in(setting, "", "", out, e);
	if (is_known(setting)) {
		*out = known.tree;
		return 0;
	}
	known.tree.count = 0;
	if (find_now(setting, out, e) < 0)
		return -1;
	if (str_copy(known.setting, sizeof(known.setting), setting))
		known.tree = *out;
	return 0;
}

/*
 * Moves process `pid` from our group `own` into a new leaf own/api.  Does
 * nothing if `own` is not delegated to us.
 */
static int
enter_leaf(const char *point, const char *own, int64_t pid, struct err *e)
{
	auto_free char *dir = xasprintf("%s%s", point, own);
	auto_free char *leaf = xasprintf("%s/api", dir);
	auto_free char *procs = xasprintf("%s/cgroup.procs", leaf);
	auto_fd int fd = -1;

	if (!is_delegated(dir))
		return 0;
	if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "%s", leaf);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%" PRId64, pid) < 0)
		return err_errno(e, "%s", procs);
	return 0;
}

int
cgroup_enter_leaf_in(const char *mountinfo, const char *own_groups, int64_t pid,
    struct err *e)
{
	auto_free char *copy = xstrdup(mountinfo);
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		char own[PROVIDER_PATH_MAX];
		const char *path = own;
		struct mounted m;
		size_t len;

		if (!parse_mount(line, &m) || !own_path(own_groups, &m, own) ||
		    str_equal(own, "/"))
			continue;
		len = strlen(own);
		if (len > 4 && str_equal(own + len - 4, "/api"))
			continue; /* already done, by systemd */
		if (!str_equal(m.root, "/") && str_starts(path, m.root))
			path += strlen(m.root);
		if (enter_leaf(m.point, path, pid, e) < 0)
			return -1;
	}
	return 0;
}

int
cgroup_enter_leaf(const char *setting, struct err *e)
{
	auto_buf struct buf mounts = { 0 }, groups = { 0 };
	bool found;

	if (!str_equal(setting, "auto"))
		return 0;
	if (file_read(AT_FDCWD, "/proc/self/mountinfo", TEXT_MAX, &found,
		&mounts, e) < 0 ||
	    file_read(AT_FDCWD, "/proc/self/cgroup", TEXT_MAX, &found, &groups,
		e) < 0)
		return -1;
	known.tree.count = 0; /* found from the group that we leave */
	return cgroup_enter_leaf_in(mounts.data != NULL ? mounts.data : "",
	    groups.data != NULL ? groups.data : "", getpid(), e);
}
