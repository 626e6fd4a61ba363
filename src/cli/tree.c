/* tree.c: what is in a directory, here or in a session. */
#include "cli/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sessions.h"
#include "common/mem.h"

enum { DEPTH_MAX = 512 };

/* ---- here */

static char *
text_of(const struct stat *st)
{
	char type = S_ISREG(st->st_mode) ? 'f'
	    : S_ISLNK(st->st_mode)       ? 'l'
	    : S_ISDIR(st->st_mode)       ? 'd'
					 : 'o';

	if (type == 'd')
		return xasprintf("d %o", (unsigned)st->st_mode & 0777);
	return xasprintf("%c %o %lld %lld.%09ld", type,
	    (unsigned)st->st_mode & 0777, (long long)st->st_size,
	    (long long)st->st_mtim.tv_sec, (long)st->st_mtim.tv_nsec);
}

char *
tree_entry(int parent, const char *name)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	return text_of(&st);
}

static int add_directory(int fd, const char *path, int depth, json_t *out,
    struct err *e);

/* `path` is that of the directory and ends with a slash, or is "". */
static int
add_entry(int dir, const char *path, const char *name, int depth, json_t *out,
    struct err *e)
{
	auto_free char *below = xasprintf("%s%s", path, name);
	auto_free char *text = tree_entry(dir, name);
	auto_free char *inside = NULL;
	int fd;

	if (text == NULL)
		return 0; /* it has just gone */
	json_object_set_new_nocheck(out, below, json_string(text));
	if (text[0] != 'd')
		return 0;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "%.150s", below);
	inside = xasprintf("%s/", below);
	return add_directory(fd, inside, depth + 1, out, e);
}

/* Closes fd. */
static int
add_directory(int fd, const char *path, int depth, json_t *out, struct err *e)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *d;
	int rc = 0;

	if (dir == NULL || depth > DEPTH_MAX) {
		rc = depth > DEPTH_MAX ? ELOOP : errno;
		if (dir != NULL)
			closedir(dir);
		else
			close(fd);
		errno = rc;
		return err_errno(e, "%.150s", path);
	}
	while (rc == 0 && (d = readdir(dir)) != NULL)
		if (!str_equal(d->d_name, ".") && !str_equal(d->d_name, ".."))
			rc = add_entry(fd, path, d->d_name, depth, out, e);
	closedir(dir);
	return rc;
}

int
tree_here(const char *dir, json_t *out, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "%.150s", dir);
	return add_directory(fd, "", 0, out, e);
}

int
tree_parent(int root, const char *path, const char **base)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	while (fd >= 0 && (slash = strchr(path, '/')) != NULL) {
		auto_free char *part =
		    xasprintf("%.*s", (int)(slash - path), path);
		int next = -1;

		if (!str_equal(part, "..") && !str_equal(part, "."))
			next = openat(fd, part,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
		path = slash + 1;
	}
	*base = path;
	if (fd >= 0 &&
	    (path[0] == '\0' || str_equal(path, "..") || str_equal(path, ".")))
		mem_close_fd(&fd);
	return fd;
}

/* ---- there */

static void
add_remote(json_t *out, const json_t *file)
{
	const char *path = json_str(file, "relativePath");
	const char *type = json_str(file, "type");
	auto_free char *text = NULL;

	if (str_equal(type, "directory"))
		text = xasprintf("d %s", json_str(file, "mode"));
	else
		text = xasprintf("%c %s %lld %s",
		    str_equal(type, "file")          ? 'f'
			: str_equal(type, "symlink") ? 'l'
						     : 'o',
		    json_str(file, "mode"),
		    (long long)json_integer_value(
			json_object_get(file, "size")),
		    json_str(file, "modifiedAt"));
	json_object_set_new(out, path, json_string(text));
}

int
tree_there(struct copy *k, const char *dir, json_t *out, struct err *e)
{
	auto_json json_t *answer = NULL;
	auto_json json_t *body = json_pack("{s:o, s:{s:b, s:b}}", "path",
	    json_lossy(dir), "options", "recursive", 1, "includeHidden", 1);
	const json_t *file;
	size_t i;

	if (session_call(k->client, "POST", k->id, "/api/list-files", body,
		&answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "files"), i, file)
	{
		add_remote(out, file);
	}
	return 0;
}
