/* backup_path.c: checks the paths of backups. */
#include "agent/archive/backup_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/glob.h"
#include "common/mem.h"

/* `itself`: the root itself is allowed, too, not only paths below it. */
static const struct {
	const char *name, *roots[6], *words;
	bool itself;
} PLACES[] = {
	[BACKUP_DIR] = { "dir",
	    { "/workspace", "/home", "/tmp", "/var/tmp", "/app" },
	    "/workspace, /home, /tmp, /var/tmp or /app", true },
	[BACKUP_ARCHIVE] = { "archivePath", { "/var/backups" }, "/var/backups",
	    false },
};

static int
refuse(enum backup_place place, const char *why, struct err *e)
{
	return err_set(e, ERR_INVALID, CODE_INVALID_BACKUP_CONFIG, "%s %s",
	    PLACES[place].name, why);
}

static int
refuse_place(enum backup_place place, struct err *e)
{
	return err_set(e, ERR_INVALID, CODE_INVALID_BACKUP_CONFIG,
	    "%s must be below %s", PLACES[place].name, PLACES[place].words);
}

static bool
goes_up(const char *path)
{
	for (const char *s = path; s != NULL; s = strchr(s, '/')) {
		s += strspn(s, "/");
		if (s[0] == '.' && s[1] == '.' && (s[2] == '/' || s[2] == '\0'))
			return true;
	}
	return false;
}

static bool
is_below(enum backup_place place, const char *path)
{
	for (const char *const *root = PLACES[place].roots; *root != NULL;
	     root++)
		if (files_below(path, *root) != NULL ||
		    (PLACES[place].itself && str_equal(path, *root)))
			return true;
	return false;
}

/* Checks a path and normalises its slashes; none stays at the end. */
static int
normalise(enum backup_place place, const char *path, char out[FILES_PATH_MAX],
    struct err *e)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return refuse(place, "must be an absolute path", e);
	if (goes_up(path))
		return refuse(place, "must not contain '..'", e);
	if (files_resolve("/", path, out, e) < 0)
		return refuse(place, "is too long", e);
	if (place == BACKUP_ARCHIVE && path[len - 1] == '/')
		return refuse(place, "must be the path of a file", e);
	for (len = strlen(out); len > 1 && out[len - 1] == '/'; len--)
		out[len - 1] = '\0';
	return 0;
}

int
backup_path_check(enum backup_place place, const char *path, struct err *e)
{
	char clean[FILES_PATH_MAX];

	if (normalise(place, path, clean, e) < 0)
		return -1;
	return is_below(place, clean) ? 0 : refuse_place(place, e);
}

/*
 * Resolves symbolic links in the part of the path that exists, and appends the
 * rest unchanged.
 */
static int
resolve_links(enum backup_place place, const char *path,
    char out[FILES_PATH_MAX], struct err *e)
{
	char head[FILES_PATH_MAX];
	auto_free char *real = NULL;
	size_t len = strlen(path);
	struct stat st;

	str_copy(head, sizeof(head), path);
	while (len > 0 && (real = realpath(head, NULL)) == NULL) {
		/* a dangling link could point to any directory */
		if (errno != ENOENT || lstat(head, &st) == 0)
			return refuse(place, "cannot be resolved", e);
		while (head[--len] != '/')
			;
		head[len] = '\0';
	}
	if (snprintf(out, FILES_PATH_MAX, "%s%s", real != NULL ? real : "",
		path + len) >= FILES_PATH_MAX)
		return refuse(place, "is too long", e);
	return 0;
}

int
backup_path_find(enum backup_place place, const char *path,
    char out[FILES_PATH_MAX], struct err *e)
{
	char clean[FILES_PATH_MAX];

	if (normalise(place, path, clean, e) < 0 ||
	    resolve_links(place, clean, out, e) < 0)
		return -1;
	return is_below(place, out) ? 0 : refuse_place(place, e);
}

int
backup_pattern_check(const char *pattern, struct err *e)
{
	const char *why = glob_fault(pattern);

	if (why == NULL && pattern[0] == '/')
		why = "must be relative to the directory";
	if (why == NULL && goes_up(pattern))
		why = "must not contain '..'";
	return why == NULL ? 0
			   : err_set(e, ERR_INVALID, CODE_INVALID_BACKUP_CONFIG,
				 "a pattern of excludes %s", why);
}

void
backup_id(const char *archive, char *out, size_t size)
{
	const char *name = strrchr(archive, '/') + 1;
	const char *dot = strrchr(name, '.');

	snprintf(out, size, "%.*s",
	    dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name),
	    name);
}
