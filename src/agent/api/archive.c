/*
 * archive.c: sends and unpacks a directory as a tar stream (GET and PUT of
 * archive/{path}).
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/api/rawpath.h"
#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/archive/pack.h"
#include "agent/files/files.h"
#include "agent/run/activity.h"
#include "agent/run/helper.h"
#include "common/clock.h"
#include "common/mem.h"
#include "web/attachment.h"

enum {
	/* a smaller archive is complete before the answer begins */
	CHUNK = 256 * 1024,
	REPORT_MAX = 64 * 1024,
	FORMAT_MAX = 16
};

/* The best format comes first, because Accept may name several. */
static const struct format {
	const char *name, *type, *suffix;
} FORMATS[] = {
	{ "tar.zst", "application/zstd", ".tar.zst" },
	{ "tar.gz", "application/gzip", ".tar.gz" },
	{ "tar", "application/x-tar", ".tar" },
};
static const struct format *const PLAIN = &FORMATS[2];

/* ---- GET */

static int
wanted_format(const struct call *c, const struct format **out, struct err *e)
{
	const char *accept = call_param(c, "HTTP_ACCEPT");
	char name[FORMAT_MAX];
	bool present;

	if (call_query(c, "format", name, sizeof(name), &present, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
		*out = &FORMATS[i];
		if (present ? str_equal(name, FORMATS[i].name)
			    : strstr(accept, FORMATS[i].type) != NULL)
			return 0;
	}
	if (present)
		return err_field(e, "format", "must be tar, tar.gz or tar.zst");
	*out = PLAIN;
	return 0;
}

/* Splits the path of a file into directory and *name; a directory is ".". */
static int
split_path(char path[FILES_PATH_MAX], const char **name, struct err *e)
{
	struct stat st;
	char *slash;

	*name = ".";
	if (stat(path, &st) < 0)
		return files_fail(e, path);
	if (S_ISDIR(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "%.150s is neither a directory nor a regular file", path);
	slash = strrchr(path, '/');
	*slash = '\0';
	*name = slash + 1;
	return 0;
}

/* Makes an error from the helper's report. */
static int
set_pack_error(struct helper *w, const char *path, struct err *e)
{
	auto_free char *text = xmalloc(REPORT_MAX);
	auto_json json_t *said = NULL;
	struct err ignored;
	ssize_t n = helper_read(w->err, text, REPORT_MAX);

	if (n > 0 && json_parse(text, (size_t)n, &said, &ignored) == 0 &&
	    pack_blames_disk(said, path, e))
		return err_wrap(e, "%.80s cannot be archived", path);
	return err_set(e, ERR_INTERNAL, CODE_FILESYSTEM_ERROR,
	    "%.80s cannot be archived: %.150s", path,
	    json_str(said, "message"));
}

static int
send_archive(struct call *c, struct helper *w, const char *path,
    const struct format *f, struct err *e)
{
	auto_free char *buf = xmalloc(CHUNK);
	ssize_t n = helper_read(w->out, buf, CHUNK);

	if (n < CHUNK) {
		if (helper_wait(w) != 0)
			return set_pack_error(w, path, e);
		call_reply_bytes(c, 200, f->type, buf, (size_t)n);
		return 0;
	}
	call_begin(c, 200, f->type);
	do {
		if (call_write(c, buf, (size_t)n) < 0)
			return 0;
		n = read(w->out, buf, CHUNK);
	} while (n > 0);
	/* the client could take the part that was sent for the whole archive */
	if (helper_wait(w) != 0)
		call_cut(c);
	return 0;
}

int
api_archive_get(struct call *c, struct err *e)
{
	auto_helper struct helper w = HELPER_NONE;
	const char *argv[] = { "/proc/self/exe", "pack", NULL, NULL, NULL };
	char path[FILES_PATH_MAX];
	const struct format *f;
	int rc;

	if (rawpath_of(c, "archive.read", path, e) < 0 ||
	    wanted_format(c, &f, e) < 0)
		return -1;
	attachment_name(c, path, f->suffix);
	argv[2] = f->name;
	if (split_path(path, &argv[3], e) < 0)
		return -1;
	if (str_equal(c->method, "HEAD")) {
		call_begin(c, 200, f->type);
		return 0;
	}
	if (helper_start(&w,
		&(struct helper_plan){ argv, path[0] != '\0' ? path : "/",
		    HELPER_PIPE, HELPER_PIPE, HELPER_PIPE },
		e) < 0)
		return -1;
	activity_begin(ACTIVITY_STREAMS);
	rc = send_archive(c, &w, path, f, e);
	activity_end(ACTIVITY_STREAMS);
	return rc;
}

/* ---- PUT */

/*
 * Passes the body to the helper.  A helper that ends early is not an error
 * here: reply_outcome() reads its report.
 */
static int
send_body(struct call *c, struct helper *w, struct err *e)
{
	auto_free char *buf = xmalloc(CHUNK);
	ssize_t n;

	while ((n = call_read(c, buf, CHUNK, e)) > 0)
		if (files_put(w->in, buf, (size_t)n) < 0)
			return 0;
	return n < 0 ? -1 : 0;
}

static void
set_progress_context(struct call *c, const char *path, const json_t *said)
{
	json_t *context = json_pack("{s:o, s:s}", "path", json_lossy(path),
	    "operation", "archive.write");
	static const char *const MEMBERS[] = { "entry", "entries", "bytes" };

	for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
		if (json_object_get(said, MEMBERS[i]) != NULL)
			json_object_set(context, MEMBERS[i],
			    json_object_get(said, MEMBERS[i]));
	request_context(c, context);
}

static int
set_unpack_error(const json_t *said, struct err *e)
{
	const char *entry = json_str(said, "entry");

	if (pack_blames_disk(said, entry, e))
		return -1;
	return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
	    "the archive cannot be unpacked: entry %lld%s%.80s: %.100s",
	    (long long)json_integer_value(json_object_get(said, "entries")) + 1,
	    entry[0] != '\0' ? ", " : "", entry, json_str(said, "message"));
}

static int
reply_outcome(struct call *c, struct helper *w, const char *path, struct err *e)
{
	auto_free char *text = xmalloc(REPORT_MAX);
	auto_json json_t *said = NULL;
	char at[CLOCK_ISO_MAX];
	ssize_t n;
	int status;

	n = helper_read(w->out, text, REPORT_MAX);
	mem_close_fd(&w->out); /* a longer report must not block the helper */
	status = helper_wait(w);
	if (n <= 0 || json_parse(text, (size_t)n, &said, e) < 0 ||
	    !json_is_object(said))
		return err_set(e, ERR_INTERNAL, CODE_FILESYSTEM_ERROR,
		    "unpacking ended with status %d", status);
	if (status != 0) {
		set_progress_context(c, path, said);
		return set_unpack_error(said, e);
	}
	clock_iso(at);
	json_object_set_new(said, "success", json_true());
	json_object_set_new(said, "path", json_lossy(path));
	json_object_set_new(said, "timestamp", json_string(at));
	call_reply(c, 200, said);
	return 0;
}

int
api_archive_put(struct call *c, struct err *e)
{
	static const char *const ARGV[] = { "/proc/self/exe", "unpack", NULL };
	auto_helper struct helper w = HELPER_NONE;
	char path[FILES_PATH_MAX];
	int rc;

	if (rawpath_of(c, "archive.write", path, e) < 0 ||
	    files_make_dir(path, true, e) < 0 ||
	    helper_start(&w,
		&(struct helper_plan){ ARGV, path, HELPER_PIPE, HELPER_PIPE,
		    HELPER_PIPE },
		e) < 0)
		return -1;
	activity_begin(ACTIVITY_STREAMS);
	rc = send_body(c, &w, e);
	close(take_fd(&w.in));
	if (rc == 0) {
		rc = reply_outcome(c, &w, path, e);
	} else {
		mem_close_fd(&w.out);
		helper_wait(&w); /* the helper removes a file that was cut */
	}
	activity_end(ACTIVITY_STREAMS);
	return rc;
}
