/* files.c: handles POST api/mkdir, delete, rename, move, list-files, exists. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/api/listing.h"
#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/api/target.h"
#include "agent/files/files.h"
#include "agent/files/move.h"
#include "agent/run/activity.h"
#include "common/mem.h"

/* Reads the body and resolves its member `path`. */
static int
read_path(struct call *c, const char *operation, json_t **body,
    struct target *t, struct err *e)
{
	if (request_body(c, TARGET_BODY_MAX, body, e) < 0)
		return -1;
	return target_take(c, *body, "path", operation, t, e);
}

/* ---- directories */

struct dir_options {
	int recursive;
	int hidden;
};

static const struct jfield MKDIR[] = {
	JFIELD("recursive", struct dir_options, recursive, J_BOOL, 0, 0, 1,
	    "also creates parents; the directory may exist"),
};

static const struct jfield LIST[] = {
	JFIELD("recursive", struct dir_options, recursive, J_BOOL, 0, 0, 1,
	    "also what is in its directories"),
	JFIELD("includeHidden", struct dir_options, hidden, J_BOOL, 0, 0, 1,
	    "also names that begin with a dot"),
};

int
api_mkdir(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct dir_options o = { 0 };
	struct target t;

	if (read_path(c, "directory.create", &body, &t, e) < 0 ||
	    jfield_decode(body, MKDIR, ARRAY_LEN(MKDIR), J_LENIENT, &o, e) < 0)
		return -1;
	if (files_make_dir(t.where, o.recursive, e) < 0) {
		/* the contract with SDKs has no other code for these two */
		if (e->kind == ERR_NOT_FOUND || e->kind == ERR_CONFLICT) {
			e->kind = ERR_INTERNAL;
			e->code = CODE_FILESYSTEM_ERROR;
		}
		return -1;
	}
	target_reply(c, &t, json_pack("{s:b}", "recursive", o.recursive));
	return 0;
}

int
api_list_files(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	const json_t *options;
	struct dir_options o = { 0 };
	struct target t;

	if (read_path(c, "directory.list", &body, &t, e) < 0)
		return -1;
	options = json_object_get(body, "options");
	if (options != NULL && !json_is_object(options))
		return err_field(e, "options", "must be an object");
	if (options != NULL &&
	    jfield_decode(options, LIST, ARRAY_LEN(LIST), J_LENIENT, &o, e) < 0)
		return -1;
	return listing_reply(c,
	    &(struct listing){ .path = t.path,
		.where = t.where,
		.recursive = o.recursive,
		.hidden = o.hidden },
	    e);
}

/* ---- names */

/*
 * Makes an error after a failed unlink().  That the path is a directory is more
 * important than another errno, for example a read-only parent.
 */
static int
refuse_delete(const char *path, struct err *e)
{
	int saved = errno;
	struct stat st;

	/* clients look for the first three words */
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, CODE_IS_DIRECTORY,
		    "Cannot delete directory %.180s: only files are deleted here",
		    path);
	errno = saved;
	return files_fail(e, path);
}

int
api_delete(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct target t;

	if (read_path(c, "file.delete", &body, &t, e) < 0)
		return -1;
	if (unlink(t.where) < 0)
		return refuse_delete(t.where, e);
	target_reply(c, &t, NULL);
	return 0;
}

/* Handles api/rename and api/move, which differ in names of members only. */
static int
relocate(struct call *c, const char *from_field, const char *to_field,
    const char *operation, struct err *e)
{
	auto_json json_t *body = NULL;
	struct target from, to;
	int rc;

	/* the source comes last, because the error's context shows it */
	if (request_body(c, TARGET_BODY_MAX, &body, e) < 0 ||
	    target_take(c, body, to_field, operation, &to, e) < 0 ||
	    target_take(c, body, from_field, operation, &from, e) < 0)
		return -1;
	/* between file systems it can take a while */
	activity_begin(ACTIVITY_RUNNING);
	rc = move_path(from.where, to.where, e);
	activity_end(ACTIVITY_RUNNING);
	if (rc < 0)
		return -1;
	target_reply(c, &from, json_pack("{s:s}", "newPath", to.path));
	return 0;
}

int
api_rename(struct call *c, struct err *e)
{
	return relocate(c, "oldPath", "newPath", "file.rename", e);
}

int
api_move(struct call *c, struct err *e)
{
	return relocate(c, "sourcePath", "destinationPath", "file.move", e);
}

/* True for an errno after which a path counts as absent, as for `test -e`. */
static bool
means_absent(int error)
{
	static const int ERRORS[] = { ENOENT, ENOTDIR, ELOOP, EACCES,
		ENAMETOOLONG };

	for (size_t i = 0; i < ARRAY_LEN(ERRORS); i++)
		if (error == ERRORS[i])
			return true;
	return false;
}

int
api_exists(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct target t;
	struct stat st;
	bool there;

	if (read_path(c, "file.stat", &body, &t, e) < 0)
		return -1;
	there = stat(t.where, &st) == 0;
	if (!there && !means_absent(errno))
		return files_fail(e, t.where);
	target_reply(c, &t, json_pack("{s:b}", "exists", (int)there));
	return 0;
}
