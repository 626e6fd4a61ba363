/* tree.c: lists a directory on this machine or in a session. */
#include "cli/copy/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/http/sessions.h"
#include "common/mem.h"
#include "common/utf8.h"

/* The text for two paths that have the same name in the session's listing:
 * it equals the text of no entry. */
#define TREE_UNCLEAR "?"
#define UTF8_REPLACED "\xef\xbf\xbd"

enum { DEPTH_MAX = 512 };

/* ---- here */

/* The time is at the end, because a session's listing has only the beginning of
 * it: tree_is_as_there() compares prefixes. */
static char *
entry_text(const struct stat *st)
{
	bool link = S_ISLNK(st->st_mode);
	unsigned mode = link ? 0 : (unsigned)st->st_mode & 0777;
	char at[32] = "";
	struct tm tm;

	if (S_ISDIR(st->st_mode))
		return xasprintf("d %03o", mode);
	if (gmtime_r(&st->st_mtim.tv_sec, &tm) != NULL)
		strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S", &tm);
	return xasprintf("%c %03o %lld %s.%09ld", link ? 'l' : 'f', mode,
	    (long long)st->st_size, at, (long)st->st_mtim.tv_nsec);
}

static bool
is_copied(mode_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

char *
tree_entry(int parent, const char *name)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	return entry_text(&st);
}

static int add_directory(int fd, const char *path, int depth, json_t *out,
    struct err *e);

/* `path` is the path of the directory `dir`, with a slash at its end, or "". */
static int
add_entry(int dir, const char *path, const char *name, int depth, json_t *out,
    struct err *e)
{
	auto_free char *below = xasprintf("%s%s", path, name);
	auto_free char *text = NULL;
	auto_free char *inside = NULL;
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_copied(st.st_mode))
		return 0; /* the entry is just gone, or is a socket etc. */
	text = entry_text(&st);
	json_object_set_new_nocheck(out, below, json_string(text));
	if (!S_ISDIR(st.st_mode))
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

/* The permissions that "rwxr-xr-x" has after tar has unpacked it here. */
static unsigned
mode_of(const char *text, mode_t mask)
{
	unsigned mode = 0;

	for (size_t i = 0; i < 9 && text[i] != '\0'; i++)
		if (strchr("-ST", text[i]) == NULL)
			mode |= 0400U >> i;
	return mode & ~(unsigned)mask;
}

static void
add_remote(json_t *out, const json_t *file, mode_t mask)
{
	const char *path = json_str(file, "relativePath");
	const char *type = json_str(file, "type");
	const char *at = json_str(file, "modifiedAt");
	bool link = str_equal(type, "symlink");
	unsigned mode = link ? 0 : mode_of(json_str(file, "mode"), mask);
	auto_free char *text = NULL;

	if (json_object_get(out, path) != NULL)
		text = xstrdup(TREE_UNCLEAR);
	else if (str_equal(type, "directory"))
		text = xasprintf("d %03o", mode);
	else if (link || str_equal(type, "file"))
		text = xasprintf("%c %03o %lld %.*s", link ? 'l' : 'f', mode,
		    (long long)json_integer_value(
			json_object_get(file, "size")),
		    (int)strcspn(at, "Z"), at);
	if (text != NULL)
		json_object_set_new(out, path, json_string(text));
}

int
tree_there(struct copy *k, const char *dir, json_t *out, struct err *e)
{
	auto_json json_t *answer = NULL;
	auto_json json_t *body = json_pack("{s:o, s:{s:b, s:b}}", "path",
	    json_lossy(dir), "options", "recursive", 1, "includeHidden", 1);
	const json_t *file;
	mode_t mask = umask(0);
	size_t i;

	umask(mask);
	if (session_call(k->client, "POST", k->id, "/api/list-files", body,
		&answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "files"), i, file)
	{
		add_remote(out, file, mask);
	}
	return 0;
}

/* The name that `path` has in a session's listing, where all is UTF-8. */
static char *
name_there(const char *path)
{
	auto_buf struct buf quoted = { 0 };
	auto_json json_t *name = NULL;

	buf_str(&quoted, "\"");
	utf8_json(&quoted, path, strlen(path));
	buf_str(&quoted, "\"");
	name = json_loads(quoted.data, JSON_DECODE_ANY, NULL);
	return xstrdup(name != NULL ? json_string_value(name) : "");
}

bool
tree_is_as_there(const char *path, const char *text, const json_t *there)
{
	auto_free char *name = name_there(path);
	const char *other = json_str(there, name);

	return other[0] != '\0' && str_starts(text, other);
}

bool
tree_is_same(const json_t *before, const json_t *after)
{
	void *iter = json_object_iter((json_t *)(uintptr_t)after);

	for (; iter != NULL;
	     iter = json_object_iter_next((json_t *)(uintptr_t)after, iter))
		if (strstr(json_object_iter_key(iter), UTF8_REPLACED) != NULL)
			return false;
	return json_equal(before, after);
}
