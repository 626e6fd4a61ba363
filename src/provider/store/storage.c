/* storage.c: makes, finds and removes the directories of sessions. */
#include "provider/store/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/id.h"
#include "common/mem.h"
#include "provider/host/file.h"
#include "provider/host/trash.h"

/*
 * If one of the first KEPT is missing, the session's files are lost.  The
 * others can be made again, empty.
 */
static const char *const PARTS[] = { "workspace", "home", "backups" };
enum { KEPT = 2 };

char *
storage_path(const struct provider *p, const char *name)
{
	return xasprintf("%s/storage/%s", p->conf->state_dir, name);
}

static int
check_session(const char *session, struct err *e)
{
	if (id_is_session(session))
		return 0;
	return err_set(e, ERR_INTERNAL, CODE_BAD_SESSION_ID,
	    "\"%.32s\" is not a session id", session);
}

int
storage_make_box(const struct provider *p, const char *name, struct err *e)
{
	auto_free char *path = storage_path(p, name);
	auto_fd int dir = file_dir(AT_FDCWD, path, 0700, e);

	return dir < 0 ? -1 : 0;
}

/* Whether at/name is a directory; a symlink is none. */
static int
is_dir(int at, const char *name, bool *out, struct err *e)
{
	struct stat st;

	*out = false;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR
		    ? 0
		    : err_errno(e, "%s", name);
	*out = S_ISDIR(st.st_mode);
	return 0;
}

int
storage_box_exists(const struct provider *p, const char *name, bool *out,
    struct err *e)
{
	auto_free char *path = storage_path(p, name);

	return is_dir(AT_FDCWD, path, out, e);
}

int
storage_drop_box(const struct provider *p, const char *name, struct err *e)
{
	auto_free char *path = storage_path(p, name);

	return trash_take(p, AT_FDCWD, path, e);
}

int
storage_make(const struct provider *p, const char *name, const char *session,
    struct err *e)
{
	auto_free char *path = storage_path(p, name);
	auto_fd int box = -1, dir = -1;

	if (check_session(session, e) < 0 || storage_check(p, e) < 0)
		return -1;
	box = file_dir(AT_FDCWD, path, 0700, e);
	if (box < 0)
		return -1;
	dir = file_dir(box, session, 0700, e);
	if (dir < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
		if (mkdirat(dir, PARTS[i], 0700) < 0 && errno != EEXIST)
			return err_errno(e, "mkdir %s/%s", session, PARTS[i]);
	return 0;
}

int
storage_exists(const struct provider *p, const char *name, const char *session,
    bool *out, struct err *e)
{
	*out = false;
	if (check_session(session, e) < 0 || storage_check(p, e) < 0)
		return -1;
	for (size_t i = 0; i < KEPT; i++) {
		auto_free char *part = xasprintf("%s/storage/%s/%s/%s",
		    p->conf->state_dir, name, session, PARTS[i]);

		if (is_dir(AT_FDCWD, part, out, e) < 0)
			return -1;
		if (!*out)
			return 0;
	}
	return 0;
}

int
storage_drop_copy(const struct provider *p, int box, const char *session,
    struct err *e)
{
	auto_free char *copy = xasprintf("%s%s", STORAGE_COPY, session);

	return trash_take(p, box, copy, e);
}

int
storage_drop(const struct provider *p, const char *name, const char *session,
    struct err *e)
{
	auto_free char *path = storage_path(p, name);
	auto_fd int box = -1;
	bool found;

	if (check_session(session, e) < 0)
		return -1;
	box = file_opendir(AT_FDCWD, path, &found, e);
	if (box < 0)
		return found ? -1 : 0;
	return storage_drop_copy(p, box, session, e) < 0 ||
		trash_take(p, box, session, e) < 0
	    ? -1
	    : 0;
}

int
storage_sessions(const struct provider *p, const char *name, char ***out,
    struct err *e)
{
	auto_free char *path = storage_path(p, name);

	return file_names(AT_FDCWD, path, out, e);
}

int
storage_sweep(const struct provider *p, int64_t deadline_ms, bool *left,
    struct err *e)
{
	auto_free char *path = xasprintf("%s/storage", p->conf->state_dir);
	auto_names char **boxes = NULL;
	auto_fd int top = -1;
	struct stat ours, st;
	bool found;

	*left = false;
	top = file_opendir(AT_FDCWD, path, &found, e);
	if (top < 0)
		return found ? -1 : 0;
	if (fstat(top, &ours) < 0)
		return err_errno(e, "%s", path);
	if (storage_boxes(p, &boxes, e) < 0)
		return -1;
	for (char **n = boxes; *n != NULL; n++) {
		auto_fd int box = -1;
		bool more;

		if (fstatat(top, *n, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_dev == ours.st_dev)
			continue;
		box = file_opendir(top, *n, &found, e);
		if (box < 0 && !found)
			continue;
		if (box < 0 || trash_sweep_here(box, deadline_ms, &more, e) < 0)
			return -1;
		*left = *left || more;
	}
	return 0;
}
