/* raw.c: sends, writes and deletes files as bytes (files/{path}). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/api/rawpath.h"
#include "agent/api/routes.h"
#include "agent/files/entity.h"
#include "agent/files/files.h"
#include "agent/files/mime.h"
#include "agent/files/temp_file.h"
#include "agent/files/tree.h"
#include "agent/run/activity.h"
#include "common/clock.h"
#include "common/mem.h"
#include "web/attachment.h"

enum { CHUNK = 256 * 1024, MODE_TEXT_MAX = 8, REMOVE_MS = 10 * 60 * 1000 };

static struct entity_conditions
read_conditions(const struct call *c)
{
	return (struct entity_conditions){
		.match = call_param(c, "HTTP_IF_MATCH"),
		.none_match = call_param(c, "HTTP_IF_NONE_MATCH"),
		.modified_since = call_param(c, "HTTP_IF_MODIFIED_SINCE"),
		.unmodified_since = call_param(c, "HTTP_IF_UNMODIFIED_SINCE"),
	};
}

static int
set_condition_failed(struct err *e, const char *path)
{
	return err_set(e, ERR_PRECONDITION, CODE_PRECONDITION_FAILED,
	    "a condition of the request (If-...) does not hold for %.180s",
	    path);
}

static void
reply_done(struct call *c, int status, const char *path, int64_t size)
{
	auto_json json_t *body = json_object();
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	json_object_set_new(body, "success", json_true());
	json_object_set_new(body, "path", json_lossy(path));
	if (size >= 0)
		json_object_set_new(body, "size", json_integer(size));
	json_object_set_new(body, "timestamp", json_string(at));
	call_reply(c, status, body);
}

/* ---- GET and HEAD */

static int
open_regular(const char *path, struct stat *st, struct err *e)
{
	/* O_NONBLOCK: open() of a fifo without a writer must not block */
	auto_fd int fd =
	    open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st) < 0)
		return files_fail(e, path);
	if (S_ISDIR(st->st_mode))
		return err_set(e, ERR_INVALID, CODE_IS_DIRECTORY,
		    "%.150s is a directory; read it with archive/{path}", path);
	if (!S_ISREG(st->st_mode))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "%.180s is not a regular file", path);
	return take_fd(&fd);
}

static void
send_part(struct call *c, int fd, int status, const char *type, int64_t from,
    int64_t len)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)len);
	call_header(c, "Content-Length", text);
	call_begin(c, status, type);
	if (!str_equal(c->method, "HEAD"))
		call_send_file(c, fd, from, len);
}

/*
 * Sends a file of the kernel (/proc, /sys), whose size is always 0.  Only
 * reading shows its content, and there is no tag or date to compare.
 */
static int
send_unmeasured(struct call *c, int fd, const char *path, struct err *e)
{
	auto_free char *buf = xmalloc(CHUNK);
	ssize_t n = read(fd, buf, CHUNK);

	if (n < 0)
		return files_fail(e, path);
	call_begin(c, 200, mime_of(path, buf, (size_t)n));
	if (str_equal(c->method, "HEAD"))
		return 0;
	while (n > 0 && call_write(c, buf, (size_t)n) == 0)
		n = read(fd, buf, CHUNK);
	if (n < 0)
		call_cut(c);
	return 0;
}

/* True for a file with content whose size is 0. */
static bool
is_unmeasured(int fd, const struct stat *st)
{
	char one;

	return st->st_size == 0 && pread(fd, &one, sizeof(one), 0) != 0;
}

static int
send_file(struct call *c, int fd, const char *path, const struct stat *st,
    struct err *e)
{
	struct entity_conditions wanted = read_conditions(c);
	const char *type = mime_of_fd(path, fd);
	int64_t from, len;
	struct entity en;
	char range[80], mode[8];

	snprintf(mode, sizeof(mode), "%04o", (unsigned)st->st_mode & 0777);
	call_header(c, "X-File-Mode", mode);
	entity_of(st, &en);
	call_header(c, "ETag", en.tag);
	call_header(c, "Last-Modified", en.date);
	switch (entity_check(&en, &wanted, true)) {
	case ENTITY_FAILED:
		return set_condition_failed(e, path);
	case ENTITY_NOT_MODIFIED:
		call_reply_empty(c, 304);
		return 0;
	case ENTITY_GO_ON:
		break;
	}
	call_header(c, "Accept-Ranges", "bytes");
	switch (entity_range(&en, call_param(c, "HTTP_RANGE"),
	    call_param(c, "HTTP_IF_RANGE"), &from, &len)) {
	case ENTITY_NO_PART:
		snprintf(range, sizeof(range), "bytes */%lld",
		    (long long)en.size);
		call_header(c, "Content-Range", range);
		return err_set(e, ERR_RANGE, CODE_RANGE_NOT_SATISFIABLE,
		    "%.150s has %lld bytes", path, (long long)en.size);
	case ENTITY_PART:
		snprintf(range, sizeof(range), "bytes %lld-%lld/%lld",
		    (long long)from, (long long)(from + len - 1),
		    (long long)en.size);
		call_header(c, "Content-Range", range);
		send_part(c, fd, 206, type, from, len);
		return 0;
	case ENTITY_WHOLE:
		break;
	}
	send_part(c, fd, 200, type, from, len);
	return 0;
}

int
api_raw_get(struct call *c, struct err *e)
{
	char path[FILES_PATH_MAX];
	auto_fd int fd = -1;
	struct stat st;
	int rc;

	if (rawpath_of(c, "file.read", path, e) < 0)
		return -1;
	fd = open_regular(path, &st, e);
	if (fd < 0)
		return -1;
	attachment_name(c, path, "");
	/* caches may keep it, but must revalidate it before each use */
	call_header(c, "Cache-Control", "private, no-cache");
	activity_begin(ACTIVITY_STREAMS);
	rc = is_unmeasured(fd, &st) ? send_unmeasured(c, fd, path, e)
				    : send_file(c, fd, path, &st, e);
	activity_end(ACTIVITY_STREAMS);
	return rc;
}

/* ---- PUT */

/* Reads ?mode=0755 into *out; -1: absent. */
static int
wanted_mode(const struct call *c, int *out, struct err *e)
{
	char text[MODE_TEXT_MAX];
	bool present;

	*out = -1;
	if (call_query(c, "mode", text, sizeof(text), &present, e) < 0)
		return -1;
	if (!present)
		return 0;
	if (!str_made_of(text, "01234567", 3, 4) ||
	    (strlen(text) == 4 && text[0] != '0'))
		return err_field(e, "mode",
		    "must be permissions in octal, such as 0644");
	*out = (int)strtol(text, NULL, 8);
	return 0;
}

/* Checks the conditions of the request against the file as it is now. */
static int
check_present(struct call *c, const char *path, struct err *e)
{
	struct entity_conditions wanted = read_conditions(c);
	struct entity en;
	struct stat st;
	bool there = stat(path, &st) == 0;

	if (there)
		entity_of(&st, &en);
	if (entity_check(there ? &en : NULL, &wanted, false) != ENTITY_GO_ON)
		return set_condition_failed(e, path);
	return 0;
}

/*
 * Room in a file for the bytes that the client has announced.  Blocks that are
 * there cost a write less than blocks that it must find.  Only so much ahead of
 * what has come: a client that announces much and sends nothing takes no disk.
 */
struct room {
	int64_t announced; /* 0: none is made any more */
	int64_t made;
};

enum { ROOM_STEP = 8 * 1024 * 1024, ROOM_MIN = 1024 * 1024 };

static struct room
room_of(const struct call *c)
{
	struct room r = { 0 };

	(void)!str_to_int(call_param(c, "CONTENT_LENGTH"), ROOM_MIN, INT64_MAX,
	    &r.announced);
	return r;
}

/* Whether it works does not matter: write() says that the disk is full. */
static void
room_make(struct room *r, int fd, int64_t until)
{
	while (r->made < until && r->made < r->announced) {
		int64_t left = r->announced - r->made,
			step = left < ROOM_STEP ? left : ROOM_STEP;

		if (fallocate(fd, FALLOC_FL_KEEP_SIZE, r->made, step) < 0)
			r->announced = 0;
		r->made += step;
	}
}

static int
take_body(struct call *c, struct temp_file *d, int64_t *size, struct err *e)
{
	auto_free char *buf = xmalloc(CHUNK);
	struct room room = room_of(c);
	ssize_t n;

	*size = 0;
	while ((n = call_read(c, buf, CHUNK, e)) > 0) {
		room_make(&room, d->fd, *size + n);
		if (temp_file_write(d, buf, (size_t)n, e) < 0)
			return -1;
		*size += n;
	}
	return n < 0 ? -1 : 0;
}

static int
put_file(struct call *c, const char *path, int mode, struct err *e)
{
	bool only_new = str_equal(call_param(c, "HTTP_IF_NONE_MATCH"), "*");
	auto_temp_file struct temp_file d = TEMP_FILE_NONE;
	struct entity en;
	struct stat st;
	int64_t size;

	if (temp_file_open(&d, path, mode, e) < 0 ||
	    take_body(c, &d, &size, e) < 0)
		return -1;
	/* check again: the file may have changed while the body came */
	if (d.temp[0] != '\0' && check_present(c, path, e) < 0)
		return -1;
	if (temp_file_commit(&d, only_new, e) < 0)
		return e->kind == ERR_CONFLICT && only_new
		    ? set_condition_failed(e, path)
		    : -1;
	if (fstat(d.fd, &st) == 0 && S_ISREG(st.st_mode)) {
		entity_of(&st, &en);
		call_header(c, "ETag", en.tag);
	}
	reply_done(c, d.replaces ? 200 : 201, path, size);
	return 0;
}

int
api_raw_put(struct call *c, struct err *e)
{
	char path[FILES_PATH_MAX];
	int mode, rc;

	if (rawpath_of(c, "file.write", path, e) < 0 ||
	    wanted_mode(c, &mode, e) < 0 || check_present(c, path, e) < 0)
		return -1;
	if (!str_empty(call_param(c, "HTTP_CONTENT_RANGE")))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "Content-Range is not supported: send the whole file");
	activity_begin(ACTIVITY_STREAMS);
	rc = put_file(c, path, mode, e);
	activity_end(ACTIVITY_STREAMS);
	return rc;
}

/* ---- DELETE */

/*
 * Limits a recursive deletion.  The tree may be large, and a process may fill
 * it as fast as it is emptied.
 */
struct delete_limit {
	struct call *call;
	int64_t until_ms;
};

/* False when the time is over or the client has gone. */
static bool
may_continue(void *ctx)
{
	struct delete_limit *p = ctx;
	struct pollfd f = { call_fd(p->call), POLLRDHUP, 0 };

	return clock_left_ms(p->until_ms) > 0 && poll(&f, 1, 0) <= 0;
}

int
api_raw_delete(struct call *c, struct err *e)
{
	struct delete_limit p = { c, clock_ms() + REMOVE_MS };
	char path[FILES_PATH_MAX], recursive[8];
	bool present;
	int rc = 0;

	if (rawpath_of(c, "file.delete", path, e) < 0 ||
	    call_query(c, "recursive", recursive, sizeof(recursive), &present,
		e) < 0 ||
	    check_present(c, path, e) < 0)
		return -1;
	if (present && !str_equal(recursive, "true") &&
	    !str_equal(recursive, "false"))
		return err_field(e, "recursive", "must be true or false");
	if (present && str_equal(recursive, "true")) {
		activity_begin(ACTIVITY_RUNNING);
		rc = tree_remove_while(path, may_continue, &p, e);
		activity_end(ACTIVITY_RUNNING);
	} else if (unlink(path) < 0) {
		rc = errno != EISDIR
		    ? files_fail(e, path)
		    : err_set(e, ERR_INVALID, CODE_IS_DIRECTORY,
			  "%.150s is a directory; ?recursive=true removes it",
			  path);
	}
	if (rc < 0)
		return -1;
	reply_done(c, 200, path, -1);
	return 0;
}
