/* snapshot_import.c: the files of a snapshot as those of a session. */
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
 * Whether it is a directory, and no link to one: what was sent to us may be
 * anything, and what becomes of it is mounted.
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

/* One that is not there is empty. */
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
 * Whether what was mounted is where our report lies: a spare that was given
 * away before that may have another in its place.
 */
static int
check_place(struct err *e)
{
	struct stat ours, there;

	if (fstat(STDOUT_FILENO, &ours) == 0 &&
	    lstat("/to/report", &there) == 0 && ours.st_ino == there.st_ino &&
	    ours.st_dev == there.st_dev)
		return 0;
	return err_set(e, ERR_CONFLICT, CODE_MOVED, "it was moved away");
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
	/* not made durable: a session waits, and its snapshot stays as it is */
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
