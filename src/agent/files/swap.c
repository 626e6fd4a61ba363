/* swap.c: replaces the contents of a directory, all or nothing. */
#include "agent/files/swap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/files/copy.h"
#include "common/mem.h"

enum { PASSES_MAX = 1000, NEW_MODE = 0755, STAGE_MODE = 0700 };

/* ---- the stage */

/*
 * Whether dir is a process's working directory.  After a rename the process
 * would stay in the old directory.
 */
static bool
is_cwd(const char *dir)
{
	char path[64], cwd[FILES_PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *d = opendir("/proc");

	while (!found && d != NULL && (entry = readdir(d)) != NULL) {
		ssize_t n;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/cwd", entry->d_name);
		n = readlink(path, cwd, sizeof(cwd) - 1);
		if (n < 0)
			continue;
		cwd[n] = '\0';
		found = str_equal(cwd, dir);
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* Finds out whether the directory exists, and whether it can be renamed. */
static int
check_dir(struct swap *s, struct err *e)
{
	char parent[FILES_PATH_MAX];
	struct statx st;

	s->mode = NEW_MODE;
	s->whole = true;
	s->there =
	    statx(AT_FDCWD, s->dir, AT_SYMLINK_NOFOLLOW, STATX_MODE, &st) == 0;
	if (!s->there)
		return errno == ENOENT ? files_make_parents(s->dir, e)
				       : files_fail(e, s->dir);
	if (!S_ISDIR(st.stx_mode)) {
		errno = ENOTDIR;
		return files_fail(e, s->dir);
	}
	s->mode = st.stx_mode & 07777;
	str_copy(parent, sizeof(parent), s->dir);
	strrchr(parent, '/')[1] = '\0';
	s->whole = (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0 &&
	    access(parent, W_OK) == 0 && !is_cwd(s->dir);
	return 0;
}

static void
stage_path(const struct swap *s, const char *name, char out[SWAP_PATH_MAX])
{
	snprintf(out, SWAP_PATH_MAX, "%.*s/%s", FILES_TEMP_MAX, s->stage, name);
}

static int
make_stage(struct swap *s, struct err *e)
{
	char inside[FILES_PATH_MAX + 2], old[SWAP_PATH_MAX];

	snprintf(inside, sizeof(inside), "%.*s/x", FILES_PATH_MAX - 1, s->dir);
	files_beside(s->whole ? s->dir : inside, s->stage);
	if (mkdir(s->stage, STAGE_MODE) < 0) {
		s->stage[0] = '\0';
		return files_fail(e, s->dir);
	}
	if (s->whole) {
		str_copy(s->fresh, sizeof(s->fresh), s->stage);
		return 0;
	}
	stage_path(s, "old", old);
	stage_path(s, "new", s->fresh);
	if (mkdir(old, STAGE_MODE) < 0 || mkdir(s->fresh, STAGE_MODE) < 0)
		return files_fail(e, s->dir);
	return 0;
}

int
swap_open(struct swap *s, const char *dir, const char *const *keeps,
    struct err *e)
{
	*s = (struct swap){ .dir = dir, .keeps = keeps };
	return check_dir(s, e) < 0 ? -1 : make_stage(s, e);
}

void
swap_drop(struct swap *s)
{
	if (s->stage[0] != '\0' && !s->keep_stage)
		copy_drop(s->stage);
	s->stage[0] = '\0';
}

/* ---- as a whole */

static int
rename_dirs(struct swap *s)
{
	if (chmod(s->fresh, s->mode) < 0)
		return -1;
	/* the tenant may make or remove dir at any time: try both */
	do {
		if (renameat2(AT_FDCWD, s->fresh, AT_FDCWD, s->dir,
			RENAME_EXCHANGE) == 0)
			return 0;
		if (errno != ENOENT)
			return -1;
		if (renameat2(AT_FDCWD, s->fresh, AT_FDCWD, s->dir,
			RENAME_NOREPLACE) == 0) {
			s->stage[0] = '\0';
			return 0;
		}
	} while (errno == EEXIST);
	return -1;
}

/* ---- entry by entry */

/* Moving a directory changes its "..", so the directory must be writable. */
static int
move_entry(int from, int to, const char *name)
{
	struct stat st;
	int rc, saved;

	if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EACCES ||
	    fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode) || (st.st_mode & S_IWUSR) != 0 ||
	    fchmodat(from, name, (st.st_mode & 07777) | S_IWUSR, 0) < 0)
		return -1;
	rc = renameat2(from, name, to, name, RENAME_NOREPLACE);
	saved = errno;
	(void)!fchmodat(rc == 0 ? to : from, name, st.st_mode & 07777, 0);
	errno = saved;
	return rc;
}

/* True for kept entries, and for temporary files of any call. */
static bool
is_not_moved(const struct swap *s, const char *name)
{
	for (const char *const *keep = s->keeps; *keep != NULL; keep++) {
		const char *rest = files_below(*keep, s->dir);

		if (rest != NULL && str_equal(rest, name))
			return true;
	}
	return str_equal(name, ".") || str_equal(name, "..") ||
	    files_is_beside(name);
}

/*
 * Moves an entry into the stage under a random name, like the old entries: the
 * tenant has made it during the change, with the name of an entry that is to be
 * moved.
 */
static int
move_to_stage(const struct swap *s, int in, const char *name)
{
	char inside[SWAP_PATH_MAX], aside[FILES_TEMP_MAX];

	stage_path(s, "x", inside);
	files_beside(inside, aside);
	return renameat(in, name, AT_FDCWD, aside);
}

/*
 * Moves the entries of d to `to`; `out`: d is s->dir.  Returns how many; -1
 * with errno.
 */
static int
move_pass(const struct swap *s, DIR *d, int to, bool out)
{
	const struct dirent *entry;
	int count = 0;

	rewinddir(d);
	while ((entry = readdir(d)) != NULL) {
		if (is_not_moved(s, entry->d_name))
			continue;
		if (move_entry(dirfd(d), to, entry->d_name) == 0 ||
		    (errno == EEXIST &&
			move_to_stage(s, out ? dirfd(d) : to, entry->d_name) ==
			    0))
			count++;
		else if (errno != ENOENT)
			return -1;
	}
	return count;
}

/*
 * Repeats until no entry is left: readdir() may miss entries of a directory
 * that changes.  EBUSY if the tenant makes new entries as fast as they are
 * moved.
 */
static int
move_all(const struct swap *s, const char *from, const char *to)
{
	auto_fd int fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = opendir(from);
	int n = -1, passes = 0, saved;

	while (fd >= 0 && d != NULL && passes++ < PASSES_MAX &&
	    (n = move_pass(s, d, fd, from == s->dir)) > 0)
		;
	saved = n > 0 ? EBUSY : errno;
	if (d != NULL)
		closedir(d);
	errno = saved;
	return n == 0 ? 0 : -1;
}

static int
change_entries(struct swap *s)
{
	char old[SWAP_PATH_MAX];
	int saved;

	stage_path(s, "old", old);
	if (move_all(s, s->dir, old) == 0) {
		if (move_all(s, s->fresh, s->dir) == 0)
			return 0;
		saved = errno;
		s->keep_stage = move_all(s, s->dir, s->fresh) < 0;
	} else {
		saved = errno;
	}
	s->keep_stage = move_all(s, old, s->dir) < 0 || s->keep_stage;
	errno = saved;
	return -1;
}

static int
change_entries_locked(struct swap *s)
{
	/* two at once would take each other's new entries for old ones */
	static struct lock lock = LOCK_INIT(LOCK_SWAP);
	int rc;

	lock_take(&lock);
	rc = change_entries(s);
	lock_drop(&lock);
	return rc;
}

/* ---- commit */

/* Moves a kept file to the new contents, or back. */
static int
carry_kept(const struct swap *s, const char *keep, bool back, struct err *e)
{
	const char *rest = files_below(keep, s->dir);
	char place[FILES_PATH_MAX];

	/* when entries are moved one by one, a kept entry is not moved */
	if (rest == NULL || (!s->whole && strchr(rest, '/') == NULL) ||
	    snprintf(place, sizeof(place), "%s/%s", s->fresh, rest) >=
		(int)sizeof(place))
		return 0;
	if (back)
		return rename(place, keep);
	if (faccessat(AT_FDCWD, keep, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (files_make_parents(place, e) < 0)
		return -1;
	copy_drop(place);
	return rename(keep, place) < 0 ? files_fail(e, keep) : 0;
}

static int
change_content(struct swap *s, struct err *e)
{
	for (const char *const *keep = s->keeps; *keep != NULL; keep++)
		if (carry_kept(s, *keep, false, e) < 0)
			return -1;
	return (s->whole ? rename_dirs(s) : change_entries_locked(s)) == 0
	    ? 0
	    : files_fail(e, s->dir);
}

int
swap_commit(struct swap *s, struct err *e)
{
	if (change_content(s, e) == 0)
		return 0;
	for (const char *const *keep = s->keeps; *keep != NULL; keep++)
		if (carry_kept(s, *keep, true, e) < 0 && errno != ENOENT)
			s->keep_stage = true;
	if (s->keep_stage)
		err_set(e, e->kind, e->code,
		    "%.100s: some of its files are now in %.120s", s->dir,
		    s->stage);
	return -1;
}
