/* snapshot_import.c: copies the files of a snapshot into a new session. */
#include "agent/archive/snapshot_import.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/copy.h"
#include "common/json.h"
#include "common/mem.h"

/*
 * Checks that `path`, if it exists, is a directory and not a link to one.  The
 * tenant made the snapshot, and the host will mount the copy.
 */
static int
is_dir(const char *path, bool *there, struct err *e)
{
	struct stat st;

	*there = lstat(path, &st) == 0;
	if (!*there)
		return errno == ENOENT ? 0 : err_errno(e, "%s", path);
	return S_ISDIR(st.st_mode)
	    ? 0
	    : err_set(e, ERR_CONFLICT, CODE_NOT_A_DIRECTORY,
		  "%s is not a directory", path);
}

/* If `from` does not exist, `to` becomes an empty directory. */
static int
import_part(const char *from, const char *to, struct err *e)
{
	bool there;

	if (is_dir(from, &there, e) < 0)
		return -1;
	if (there)
		return copy_tree(from, to, e);
	return mkdir(to, 0700) < 0 ? err_errno(e, "%s", to) : 0;
}

/*
 * Checks that the directory mounted at /to is the one with our report, which is
 * stdout.  A session may have claimed the spare by a rename before the mount;
 * another spare may then be at the path.
 */
static int
check_place(struct err *e)
{
	struct stat ours, there;

	if (fstat(STDOUT_FILENO, &ours) == 0 &&
	    lstat("/to/report", &there) == 0 && ours.st_ino == there.st_ino &&
	    ours.st_dev == there.st_dev)
		return 0;
	return err_set(e, ERR_CONFLICT, CODE_MOVED,
	    "the directory was renamed before the copy began");
}

static int
import_all(struct err *e)
{
	bool there;

	if (check_place(e) < 0 || is_dir("/from/home", &there, e) < 0)
		return -1;
	return import_part("/from/workspace", "/to/workspace", e) < 0 ||
		import_part("/from/home/user", "/to/home", e) < 0
	    ? -1
	    : 0;
}

int
snapshot_import_main(int64_t seconds)
{
	auto_json json_t *said = json_object();
	auto_free char *text = NULL;
	struct err e = { 0 };
	int rc;

	alarm((unsigned)seconds);
	umask(022);
	/* no fsync: a session waits for this, and the snapshot still exists */
	rc = import_all(&e);
	if (rc < 0) {
		bool full = e.kind == ERR_NO_SPACE || e.code == CODE_NO_SPACE;

		json_object_set_new(said, "errno",
		    json_integer(full ? ENOSPC : EIO));
		json_object_set_new(said, "message", json_lossy(e.msg));
	}
	text = json_text(said);
	fputs(text, stdout);
	fflush(stdout);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
