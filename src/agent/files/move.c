/* move.c: moves a file or directory, as mv does. */
#include "agent/files/move.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/copy.h"
#include "agent/files/files.h"
#include "agent/files/tree.h"
#include "common/mem.h"
#include "common/str.h"

/* Copies the path without slashes at the end: they would follow a link. */
static bool
strip_slashes(char out[FILES_PATH_MAX], const char *path)
{
	size_t len;

	if (!str_copy(out, FILES_PATH_MAX, path))
		return false;
	for (len = strlen(out); len > 1 && out[len - 1] == '/'; len--)
		out[len - 1] = '\0';
	return true;
}

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Puts the new path of `from` into out: below `to` if that is a directory. */
static int
find_target(const char *from, bool from_dir, const char *to,
    char out[FILES_PATH_MAX], struct err *e)
{
	if (is_dir(to))
		return files_resolve(to, strrchr(from, '/') + 1, out, e);
	if (!from_dir && to[strlen(to) - 1] == '/') {
		errno = ENOTDIR;
		return files_fail(e, to);
	}
	return strip_slashes(out, to) ? 0 : err_field(e, "path", "is too long");
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether `path` is below the directory `top`; follows ".." upwards. */
static bool
is_inside(const char *path, const struct stat *top)
{
	char parent[FILES_PATH_MAX];
	auto_fd int fd = -1;
	struct stat st, below = { 0 };

	str_copy(parent, sizeof(parent), path);
	strrchr(parent, '/')[1] = '\0';
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && fstat(fd, &st) == 0 && !is_same(&st, &below)) {
		int up;

		if (is_same(&st, top))
			return true;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
		below = st;
	}
	return false;
}

static int
refuse_itself(const char *from, struct err *e)
{
	return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
	    "%.180s cannot be moved into itself", from);
}

int
move_by_copy(const char *from, const char *to, struct err *e)
{
	char temp[FILES_TEMP_MAX];
	struct stat st;

	/* rename() checks this, but not between file systems */
	if (lstat(from, &st) == 0 && S_ISDIR(st.st_mode) && is_inside(to, &st))
		return refuse_itself(from, e);
	files_beside(to, temp);
	if (copy_tree(from, temp, e) < 0) {
		copy_drop(temp);
		return -1;
	}
	if (rename(temp, to) < 0) {
		files_fail(e, to);
		copy_drop(temp);
		return -1;
	}
	if (tree_remove(from, e) < 0)
		return err_wrap(e,
		    "the copy is complete, but the original cannot be removed");
	return 0;
}

/* Sets e from the errno of a rename() that failed. */
static int
explain_rename(const char *from, const char *to, struct err *e)
{
	if (errno == EINVAL)
		return refuse_itself(from, e);
	if (errno == ENOENT &&
	    faccessat(AT_FDCWD, from, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, ERR_INTERNAL, CODE_FILESYSTEM_ERROR,
		    "%.180s: its parent directory does not exist", to);
	files_fail(e, to);
	return err_wrap(e, "moving %.80s", from);
}

int
move_path(const char *from, const char *to, struct err *e)
{
	char source[FILES_PATH_MAX], target[FILES_PATH_MAX];
	struct stat st;

	if (!strip_slashes(source, from))
		return err_field(e, "path", "is too long");
	if (lstat(source, &st) < 0)
		return files_fail(e, from);
	if (find_target(source, S_ISDIR(st.st_mode), to, target, e) < 0)
		return -1;
	if (rename(source, target) == 0)
		return 0;
	if (errno == EXDEV)
		return move_by_copy(source, target, e);
	return explain_rename(source, target, e);
}
