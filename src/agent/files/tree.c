/* tree.c: removes a file, or a directory with all its contents. */
#include "agent/files/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "common/id.h"
#include "common/mem.h"

/*
 * Each level needs a descriptor, a buffer and a stack frame, and threads have
 * small stacks.  A directory below DEPTH_MAX is moved up to the top, and
 * removed in the next round.
 */
enum { DEPTH_MAX = 64, ASK_EVERY = 64 };

struct removal {
	int top; /* descriptor of the tree's top directory */
	tree_go_on_fn *go_on;
	void *ctx;
	unsigned count;
};

static int remove_at(struct removal *r, int at, const char *name, int depth);

static int
move_to_top(const struct removal *r, int at, const char *name)
{
	char id[ID_REQUEST_LEN + 1], up[ID_REQUEST_LEN + 8];

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -1;
	id_random(id, ID_REQUEST_LEN);
	snprintf(up, sizeof(up), ".sl-%s", id);
	return renameat(at, name, r->top, up);
}

/* Removes the directory's entries.  Returns how many; -1 with errno. */
static int
empty_dir(struct removal *r, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	const struct dirent *entry;
	int gone = 0, saved;

	if (d == NULL) {
		mem_close_fd(&fd);
		return -1;
	}
	if (depth == 1)
		r->top = dirfd(d);
	while (gone >= 0 && (entry = readdir(d)) != NULL) {
		const char *name = entry->d_name;

		if (str_equal(name, ".") || str_equal(name, ".."))
			continue;
		if (r->go_on != NULL && r->count++ % ASK_EVERY == 0 &&
		    !r->go_on(r->ctx)) {
			errno = EBUSY;
			gone = -1;
			break;
		}
		if ((depth < DEPTH_MAX ? remove_at(r, dirfd(d), name, depth)
				       : move_to_top(r, dirfd(d), name)) < 0)
			gone = -1;
		else
			gone++;
	}
	saved = errno;
	closedir(d);
	errno = saved;
	return gone;
}

static int
remove_at(struct removal *r, int at, const char *name, int depth)
{
	int gone, fd;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -1;
	/* rmdir first: a busy directory must keep its contents */
	while (unlinkat(at, name, AT_REMOVEDIR) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY)
			return -1;
		fd = openat(at, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -1;
		gone = empty_dir(r, fd, depth + 1);
		if (gone < 0)
			return -1;
		if (gone == 0) {
			errno = ENOTEMPTY;
			return -1;
		}
	}
	return 0;
}

int
tree_remove_while(const char *path, tree_go_on_fn *go_on, void *ctx,
    struct err *e)
{
	struct removal r = { .top = -1, .go_on = go_on, .ctx = ctx };
	struct stat st;

	if (lstat(path, &st) < 0 || remove_at(&r, AT_FDCWD, path, 0) < 0)
		return files_fail(e, path);
	return 0;
}

int
tree_remove(const char *path, struct err *e)
{
	return tree_remove_while(path, NULL, NULL, e);
}
