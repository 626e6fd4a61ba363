/* walk.c: visits the entries of a tree. */
#include "agent/files/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

/*
 * A directory on the way down.  If there are more than WALK_OPEN_MAX, the upper
 * ones are closed, and reopened on the way back.
 */
struct walk_level {
	DIR *dir; /* NULL: closed for now */
	dev_t device;
	ino_t ino;       /* with device: checked when it is reopened */
	long at;         /* the position to go on reading from */
	size_t path_len; /* of its path below the top */
};

/* l may be closed already, if the walk has not come back to l since. */
static void
close_level(struct walk_level *l)
{
	if (l->dir == NULL)
		return;
	l->at = telldir(l->dir);
	closedir(TAKE(l->dir));
}

/*
 * Opens ".." of the directory `below`.  False if that is another directory: the
 * tenant may have moved `below` during the walk.
 */
static bool
reopen_level(const struct walk *w, struct walk_level *l, int below)
{
	int fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != l->device ||
	    st.st_ino != l->ino || (l->dir = fdopendir(fd)) == NULL) {
		mem_close_fd(&fd);
		return false;
	}
	/* the position is wrong once the caller has removed entries */
	if (!w->shrinking)
		seekdir(l->dir, l->at);
	return true;
}

int
walk_open(struct walk *w, int fd)
{
	struct stat st;
	DIR *d;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || (d = fdopendir(fd)) == NULL) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	if (w->depth == w->room) {
		w->room = 2 * w->room + WALK_OPEN_MAX;
		w->level = xrealloc(w->level, w->room * sizeof(*w->level));
	}
	w->level[w->depth++] = (struct walk_level){ .dir = d,
		.device = st.st_dev,
		.ino = st.st_ino,
		.path_len = w->path.len };
	if (w->depth > WALK_OPEN_MAX)
		close_level(&w->level[w->depth - 1 - WALK_OPEN_MAX]);
	return 0;
}

int
walk_enter(struct walk *w)
{
	if (w->path.len >= WALK_PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return walk_open(w,
	    openat(w->at, w->name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void
set_name(struct walk *w, const struct walk_level *l, const char *name)
{
	w->name = name;
	if (!w->paths)
		return;
	w->path.len = l->path_len;
	if (w->path.len > 0)
		buf_str(&w->path, "/");
	buf_str(&w->path, name);
	w->name = w->path.data + w->path.len - strlen(name);
}

static enum walk_step
leave_dir(struct walk *w)
{
	struct walk_level *l = &w->level[w->depth - 1];

	if (w->depth > 1 && l[-1].dir == NULL &&
	    !reopen_level(w, &l[-1], dirfd(l->dir))) {
		errno = ESTALE;
		return WALK_LOST;
	}
	w->depth--;
	(void)!fstat(dirfd(l->dir), &w->st);
	closedir(l->dir);
	if (w->depth == 0)
		return WALK_END;
	w->at = dirfd(l[-1].dir);
	if (w->paths) {
		const char *slash;

		w->path.len = l->path_len;
		w->path.data[w->path.len] = '\0';
		slash = strrchr(w->path.data, '/');
		w->name = slash != NULL ? slash + 1 : w->path.data;
	}
	return WALK_LEFT;
}

enum walk_step
walk_next(struct walk *w)
{
	const struct walk_level *l;
	const struct dirent *entry;

	if (w->depth == 0)
		return WALK_END;
	l = &w->level[w->depth - 1];
	do {
		errno = 0;
		entry = readdir(l->dir);
	} while (entry != NULL &&
	    (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..")));
	if (entry == NULL)
		return errno == 0 ? leave_dir(w) : WALK_LOST;
	w->at = dirfd(l->dir);
	set_name(w, l, entry->d_name);
	/* most file systems give the type without fstatat() */
	if (w->types && entry->d_type != DT_UNKNOWN) {
		w->st = (struct stat){ .st_mode = DTTOIF(entry->d_type) };
		return WALK_ENTRY;
	}
	return fstatat(w->at, w->name, &w->st, AT_SYMLINK_NOFOLLOW) == 0
	    ? WALK_ENTRY
	    : WALK_UNSEEN;
}

void
walk_close(struct walk *w)
{
	while (w->depth > 0)
		if (w->level[--w->depth].dir != NULL)
			closedir(w->level[w->depth].dir);
	free(TAKE(w->level));
	buf_free(&w->path);
}
