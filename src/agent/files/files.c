/* files.c: paths, directories and errors of the session's files. */
#include "agent/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/id.h"
#include "common/mem.h"

#define BESIDE ".sl-"

enum { LINKS_MAX = 40, NEW_DIR_MODE = 0755 };

/* clang-format off */
static const struct { int error; enum err_kind kind; enum err_code code; } ERRNOS[] = {
	{ ENOENT,       ERR_NOT_FOUND, CODE_FILE_NOT_FOUND },
	{ EACCES,       ERR_DENIED,    CODE_PERMISSION_DENIED },
	{ EPERM,        ERR_DENIED,    CODE_PERMISSION_DENIED },
	{ EROFS,        ERR_DENIED,    CODE_READ_ONLY },
	{ EISDIR,       ERR_INVALID,   CODE_IS_DIRECTORY },
	{ ENOTDIR,      ERR_INVALID,   CODE_NOT_DIRECTORY },
	{ ENAMETOOLONG, ERR_INVALID,   CODE_NAME_TOO_LONG },
	{ EEXIST,       ERR_CONFLICT,  CODE_FILE_EXISTS },
	{ ENOTEMPTY,    ERR_CONFLICT,  CODE_FILE_EXISTS },
	{ EBUSY,        ERR_CONFLICT,  CODE_RESOURCE_BUSY },
	{ ETXTBSY,      ERR_CONFLICT,  CODE_RESOURCE_BUSY },
	{ EAGAIN,       ERR_CONFLICT,  CODE_RESOURCE_BUSY }, /* full fifo */
	{ ENXIO,        ERR_CONFLICT,  CODE_RESOURCE_BUSY }, /* no reader */
	{ EFBIG,        ERR_TOO_LARGE, CODE_FILE_TOO_LARGE },
	{ ENOSPC,       ERR_INTERNAL,  CODE_NO_SPACE },
	{ EDQUOT,       ERR_INTERNAL,  CODE_NO_SPACE },
	{ EMFILE,       ERR_INTERNAL,  CODE_TOO_MANY_FILES },
	{ ENFILE,       ERR_INTERNAL,  CODE_TOO_MANY_FILES },
	{ EMLINK,       ERR_INTERNAL,  CODE_TOO_MANY_LINKS },
	{ ELOOP,        ERR_INTERNAL,  CODE_TOO_MANY_LINKS },
};
/* clang-format on */

int
files_fail(struct err *e, const char *path)
{
	int saved = errno;

	err_set(e, ERR_INTERNAL, CODE_FILESYSTEM_ERROR, "%.180s: %s", path,
	    strerror(saved));
	for (size_t i = 0; i < ARRAY_LEN(ERRNOS); i++) {
		if (ERRNOS[i].error == saved) {
			e->kind = ERRNOS[i].kind;
			e->code = ERRNOS[i].code;
		}
	}
	return -1;
}

/* Appends the segments of `path` to out, of which *len bytes are used. */
static bool
add_segments(char out[FILES_PATH_MAX], size_t *len, const char *path)
{
	while (*(path += strspn(path, "/")) != '\0') {
		size_t n = strcspn(path, "/");

		if (n > 1 || path[0] != '.') {
			if (*len + 1 + n >= FILES_PATH_MAX)
				return false;
			out[(*len)++] = '/';
			memcpy(out + *len, path, n);
			*len += n;
		}
		path += n;
	}
	return true;
}

/* Whether the path ends with a slash or means the same: "dir/.", "." */
static bool
says_directory(const char *path)
{
	size_t len = strlen(path);

	if (len > 1 && path[len - 1] == '.' && path[len - 2] == '/')
		return true;
	return path[len - 1] == '/' || str_equal(path, ".");
}

int
files_resolve(const char *cwd, const char *path, char out[FILES_PATH_MAX],
    struct err *e)
{
	size_t len = 0;

	if (path[0] == '\0')
		return err_field(e, "path", "must not be empty");
	if ((path[0] != '/' && !add_segments(out, &len, cwd)) ||
	    !add_segments(out, &len, path) || len + 1 >= FILES_PATH_MAX)
		return err_field(e, "path", "is too long");
	if (len == 0 || says_directory(path))
		out[len++] = '/';
	out[len] = '\0';
	return 0;
}

int
files_follow(char path[FILES_PATH_MAX], struct err *e)
{
	for (int i = 0; i < LINKS_MAX; i++) {
		char link[FILES_PATH_MAX], dir[FILES_PATH_MAX];
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		char *slash;

		if (n < 0)
			return 0; /* not a link: done */
		link[n] = '\0';
		str_copy(dir, sizeof(dir), path);
		slash = strrchr(dir, '/');
		if (slash != NULL)
			*slash = '\0';
		if (files_resolve(dir, link, path, e) < 0)
			return -1;
	}
	errno = ELOOP;
	return files_fail(e, path);
}

/* Makes the directory, unless there is one. */
static bool
ensure_dir(const char *path)
{
	struct stat st;
	int saved;

	if (mkdir(path, NEW_DIR_MODE) == 0)
		return true;
	saved = errno;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	errno = saved;
	return false;
}

int
files_make_parents(const char *path, struct err *e)
{
	char dir[FILES_PATH_MAX];

	if (!str_copy(dir, sizeof(dir), path))
		return err_field(e, "path", "is too long");
	for (char *s = dir; (s = strchr(s + 1, '/')) != NULL; *s = '/') {
		*s = '\0';
		if (ensure_dir(dir))
			continue;
		if (errno == EEXIST)
			errno = ENOTDIR;
		return files_fail(e, dir);
	}
	return 0;
}

int
files_make_dir(const char *path, bool parents, struct err *e)
{
	if (parents && files_make_parents(path, e) < 0)
		return -1;
	if (parents ? ensure_dir(path) : mkdir(path, NEW_DIR_MODE) == 0)
		return 0;
	return files_fail(e, path);
}

const char *
files_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/' ? path + len + 1
								: NULL;
}

void
files_beside(const char *path, char out[FILES_TEMP_MAX])
{
	const char *slash = strrchr(path, '/');
	char id[ID_REQUEST_LEN + 1];

	id_random(id, ID_REQUEST_LEN);
	snprintf(out, FILES_TEMP_MAX, "%.*s/" BESIDE "%s", (int)(slash - path),
	    path, id);
}

bool
files_is_beside(const char *name)
{
	return str_starts(name, BESIDE) &&
	    strspn(name + sizeof(BESIDE) - 1, ID_ALPHABET) == ID_REQUEST_LEN;
}

int
files_put(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}
