/* disk.c: measures this host's disk and keeps a ballast on it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/disk.h"
#include "provider/host/file.h"
#include "provider/local/local.h"
#include "provider/store/storage.h"

static void
fill_capacity(const struct statvfs *v, struct capacity *out)
{
	out->free_bytes = (int64_t)v->f_bavail * (int64_t)v->f_frsize;
	out->total_bytes = (int64_t)v->f_blocks * (int64_t)v->f_frsize;
	out->free_files = (int64_t)v->f_favail;
	out->total_files = (int64_t)v->f_files;
	out->room_bytes = disk_room(out->free_bytes, out->total_bytes,
	    out->free_files, out->total_files);
}

/* Measures only directories that the service made, never a tenant's. */
int
local_capacity(const struct provider *p, const char *id, struct capacity *out,
    struct err *e)
{
	char name[BOX_NAME_MAX];
	auto_free char *path = NULL;
	struct statvfs v;

	*out = (struct capacity){ 0 };
	if (id[0] == '\0') {
		if (statvfs(p->conf->state_dir, &v) < 0)
			return err_errno(e, "%s", p->conf->state_dir);
		fill_capacity(&v, out);
		return 0;
	}
	box_name(id, name);
	path = storage_path(p, name);
	if (statvfs(path, &v) < 0)
		return err_errno(e, "%s", path);
	fill_capacity(&v, out);
	return 0;
}

/*
 * True if a file system is mounted there, or if the directory has a project
 * quota: statvfs() then tells the quota as the total size, which is less than
 * that of the directory above.
 */
bool
local_own_disk(const struct provider *p, const char *id)
{
	auto_free char *all = xasprintf("%s/storage", p->conf->state_dir);
	char name[BOX_NAME_MAX];
	auto_free char *path = NULL;
	struct stat here, above;
	struct statvfs v, w;

	box_name(id, name);
	path = storage_path(p, name);
	if (stat(path, &here) < 0 || stat(all, &above) < 0)
		return false;
	if (here.st_dev != above.st_dev)
		return true;
	return statvfs(path, &v) == 0 && statvfs(all, &w) == 0 &&
	    v.f_blocks < w.f_blocks;
}

/*
 * Seconds since the directory was made, by its mtime: only the service writes
 * in it, when it makes it.
 */
static int64_t
age_of(int box, const char *session)
{
	struct stat st;
	time_t now = time(NULL);

	if (fstatat(box, session, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode) || st.st_mtime > now)
		return -1;
	return now - st.st_mtime;
}

int
local_workspaces(const struct provider *p, const char *id,
    struct workspace **out, size_t *count, struct err *e)
{
	char name[BOX_NAME_MAX];
	auto_free char *path = NULL;
	auto_names char **sessions = NULL;
	auto_fd int box = -1;
	bool found;
	size_t n = 0;

	*out = NULL;
	*count = 0;
	box_name(id, name);
	path = storage_path(p, name);
	box = file_opendir(AT_FDCWD, path, &found, e);
	if (box < 0)
		return found ? -1 : 0;
	if (file_names(box, ".", &sessions, e) < 0)
		return -1;
	while (sessions[n] != NULL)
		n++;
	*out = xcalloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < n; i++) {
		struct workspace *w = &(*out)[*count];

		if (!id_is_session(sessions[i]))
			continue;
		str_copy(w->session, sizeof(w->session), sessions[i]);
		w->age_seconds = age_of(box, sessions[i]);
		++*count;
	}
	return 0;
}

/*
 * ---- the ballast: one large file, and empty files for their inodes
 *
 * The empty files are made before the large one and removed after it: if the
 * large file exists, so do they.
 */

enum { BALLAST_FILES_MAX = 4096 };

static char *
ballast_dir(const struct provider *p)
{
	return xasprintf("%s/ballast.inodes", p->conf->state_dir);
}

static int
drop_ballast_files(const struct provider *p, struct err *e)
{
	auto_free char *path = ballast_dir(p);
	auto_names char **names = NULL;
	auto_fd int dir = -1;
	bool found;

	dir = file_opendir(AT_FDCWD, path, &found, e);
	if (dir < 0)
		return found ? -1 : 0;
	if (file_names(dir, ".", &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++)
		if (unlinkat(dir, *n, 0) < 0 && errno != ENOENT)
			return err_errno(e, "%s/%s", path, *n);
	if (rmdir(path) < 0 && errno != ENOENT)
		return err_errno(e, "%s", path);
	return 0;
}

/* Makes empty files, as large a share of the inodes as `bytes` of the disk. */
static int
make_ballast_files(const struct provider *p, int64_t bytes, struct err *e)
{
	auto_free char *path = ballast_dir(p);
	auto_fd int dir = -1;
	struct capacity c;
	int64_t count;
	bool found;

	if (local_capacity(p, "", &c, e) < 0)
		return -1;
	count = c.total_files <= 0 || c.total_bytes <= 0
	    ? 0
	    : (int64_t)((double)c.total_files * (double)bytes /
		  (double)c.total_bytes);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, "%s", path);
	dir = file_opendir(AT_FDCWD, path, &found, e);
	if (dir < 0)
		return -1;
	for (int i = 0; i < count && i < BALLAST_FILES_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		if (mknodat(dir, name, S_IFREG | 0600, 0) < 0 &&
		    errno != EEXIST)
			return err_errno(e, "%s/%s", path, name);
	}
	return 0;
}

static char *
ballast_path(const struct provider *p)
{
	return xasprintf("%s/ballast", p->conf->state_dir);
}

/*
 * 0 if the directory of empty files is missing: local_ballast() then makes
 * both.
 */
int64_t
local_ballast_size(const struct provider *p)
{
	auto_free char *path = ballast_path(p), *dir = ballast_dir(p);
	struct stat st;

	return access(dir, F_OK) == 0 && lstat(path, &st) == 0 &&
		S_ISREG(st.st_mode)
	    ? st.st_size
	    : 0;
}

/*
 * The reaper and the disk's watcher may call this at the same time: the second
 * returns at once, and its caller tries again later.  The lock is on state_dir,
 * because a lock file would need an inode.
 */
int
local_ballast(const struct provider *p, int64_t bytes, struct err *e)
{
	auto_free char *path = ballast_path(p);
	auto_fd int fd = -1;
	auto_fd int lock =
	    open(p->conf->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (lock < 0)
		return err_errno(e, "%s", p->conf->state_dir);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		    ? 0
		    : err_errno(e, "%s", p->conf->state_dir);
	if (bytes > 0 && bytes == local_ballast_size(p))
		return 0;
	if (unlink(path) < 0 && errno != ENOENT)
		return err_errno(e, "%s", path);
	if (drop_ballast_files(p, e) < 0)
		return -1;
	if (bytes == 0)
		return 0;
	if (make_ballast_files(p, bytes, e) < 0)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd < 0)
		return err_errno(e, "%s", path);
	rc = posix_fallocate(fd, 0, bytes);
	if (rc == 0)
		return 0;
	unlink(path);
	errno = rc;
	return err_errno(e, "%s", path);
}
