/* backup.c: handles POST api/backup/create, restore and upload-parts. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/archive/backup.h"
#include "agent/archive/backup_path.h"
#include "agent/process/store.h"
#include "agent/run/activity.h"
#include "agent/shell/shell.h"
#include "common/mem.h"
#include "web/reply.h"

enum {
	BODY_MAX = 1024 * 1024,
	EXCLUDES_MAX = 1000,
	THREADS_DEFAULT = 8,
	THREADS_MAX = 1024,
	PARTS_MAX = 10000,
	ID_BYTES = 128
};

struct options {
	int gitignore;
	const json_t *excludes, *compression;
};

static const struct jfield OPTIONS[] = {
	JFIELD("gitignore", struct options, gitignore, J_BOOL, 0, 0, 1,
	    "leaves out files that git ignores"),
	JFIELD("excludes", struct options, excludes, J_ARR, J_OF_STRINGS, 0,
	    EXCLUDES_MAX, "names, paths and patterns that are left out"),
	JFIELD("compression", struct options, compression, J_OBJ, 0, 0, 100,
	    "how the archive is compressed"),
};

struct compression {
	int format;
	int64_t threads;
};

static const char *const FORMATS[] = { [BACKUP_GZIP] = "gzip",
	[BACKUP_LZ4] = "lz4",
	[BACKUP_ZSTD] = "zstd",
	NULL };

static const struct jfield COMPRESSION[] = {
	JFIELD_ENUM("format", struct compression, format, 0, FORMATS,
	    "which program compresses it"),
	JFIELD("threads", struct compression, threads, J_INT, 0, 1, THREADS_MAX,
	    "number of threads"),
};

/* One call: its directory, its archive and its shell. */
struct backup_call {
	struct backup backup;
	const char *dir, *archive; /* as the client wrote them; borrowed */
	char shell[SHELL_NAME_MAX];
	/* the same, resolved */
	char dir_found[FILES_PATH_MAX], archive_found[FILES_PATH_MAX];
};

/* ---- the body */

static int
check_excludes(const json_t *excludes, struct err *e)
{
	const json_t *one;
	size_t i;

	json_array_foreach(excludes, i, one)
	{
		const char *text = json_string_value(one);

		if (text == NULL || strlen(text) != json_string_length(one))
			return err_field(e, "excludes",
			    "must be strings without a NUL");
		if (backup_pattern_check(text, e) < 0)
			return -1;
	}
	return 0;
}

static int
read_options(const json_t *body, struct backup *b, struct err *e)
{
	struct compression k = { BACKUP_LZ4, THREADS_DEFAULT };
	struct options o = { 0 };

	if (jfield_decode(body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, &o, e) <
		0 ||
	    check_excludes(o.excludes, e) < 0)
		return -1;
	if (o.compression != NULL &&
	    jfield_decode(o.compression, COMPRESSION, ARRAY_LEN(COMPRESSION),
		J_LENIENT, &k, e) < 0) {
		e->code = CODE_INVALID_BACKUP_CONFIG;
		return err_wrap(e, "compression");
	}
	b->excludes = o.excludes;
	b->gitignore = o.gitignore;
	b->format = (enum backup_format)k.format;
	b->threads = (int)k.threads;
	return 0;
}

static int
read_archive(struct call *c, const json_t *body, struct backup_call *r,
    struct err *e)
{
	if (request_text(body, "archivePath", 1, FILES_PATH_MAX - 1,
		&r->archive, e) < 0 ||
	    request_shell(c, body, r->shell, e) < 0 ||
	    backup_path_check(BACKUP_ARCHIVE, r->archive, e) < 0)
		return -1;
	r->backup.archive = r->archive_found;
	return backup_path_find(BACKUP_ARCHIVE, r->archive, r->archive_found,
	    e);
}

static int
read_paths(struct call *c, const json_t *body, struct backup_call *r,
    struct err *e)
{
	if (request_text(body, "dir", 1, FILES_PATH_MAX - 1, &r->dir, e) < 0 ||
	    read_archive(c, body, r, e) < 0 ||
	    backup_path_check(BACKUP_DIR, r->dir, e) < 0)
		return -1;
	r->backup.dir = r->dir_found;
	return backup_path_find(BACKUP_DIR, r->dir, r->dir_found, e);
}

/* ---- the answer */

/*
 * Sets the context of the error; which members the SDK shows depends on the
 * code.  Returns -1.
 */
static int
explain_failure(struct call *c, const struct backup_call *r,
    const struct err *e)
{
	json_t *context = json_object();
	char id[ID_BYTES];

	if (e->code == CODE_INVALID_BACKUP_CONFIG) {
		json_object_set_new(context, "reason", json_lossy(e->msg));
	} else if (r->archive_found[0] != '\0') {
		backup_id(r->archive_found, id, sizeof(id));
		json_object_set_new(context, "backupId", json_lossy(id));
		if (r->dir != NULL)
			json_object_set_new(context, "dir", json_lossy(r->dir));
	}
	request_context(c, context);
	return -1;
}

/* ---- create and restore */

/* Creates the archive and sets *size; with a NULL `size` restores it. */
static int
run_backup(struct call *c, const struct backup_call *r, int64_t *size,
    struct err *e)
{
	const char *const ours[] = { PROCESS_DIR, shell_fifos(), NULL };
	struct interrupt_job job;
	struct helper_boss boss = { .call = c, .job = &job };
	struct backup b = r->backup;
	int rc;

	b.ours = ours;
	if (interrupt_enter(&job,
		&(struct interrupt_name){ .id = "", .shell = r->shell }, e) < 0)
		return -1;
	activity_begin(ACTIVITY_RUNNING);
	rc = size != NULL ? backup_create(&b, &boss, size, e)
			  : backup_restore(&b, &boss, e);
	interrupt_end(&job);
	activity_end(ACTIVITY_RUNNING);
	return rc;
}

int
api_backup_create(struct call *c, struct err *e)
{
	auto_free struct backup_call *r = xcalloc(1, sizeof(*r));
	auto_json json_t *body = NULL;
	int64_t size;

	if (request_body(c, BODY_MAX, &body, e) < 0)
		return -1;
	if (read_paths(c, body, r, e) < 0 ||
	    read_options(body, &r->backup, e) < 0 ||
	    run_backup(c, r, &size, e) < 0)
		return explain_failure(c, r, e);
	reply_container(c,
	    json_pack("{s:I, s:o}", "sizeBytes", (json_int_t)size,
		"archivePath", json_lossy(r->archive)));
	return 0;
}

int
api_backup_restore(struct call *c, struct err *e)
{
	auto_free struct backup_call *r = xcalloc(1, sizeof(*r));
	auto_json json_t *body = NULL;

	if (request_body(c, BODY_MAX, &body, e) < 0)
		return -1;
	if (read_paths(c, body, r, e) < 0 || run_backup(c, r, NULL, e) < 0)
		return explain_failure(c, r, e);
	reply_container(c, json_pack("{s:o}", "dir", json_lossy(r->dir)));
	return 0;
}

/* ---- upload-parts */

/*
 * A part of the archive.  Its `url`, to which it shall be uploaded, is a
 * secret: no error may show it.
 */
struct part {
	int64_t number, offset, size;
};

static const struct jfield PART[] = {
	JFIELD("partNumber", struct part, number, J_INT, J_REQUIRED, 1,
	    PARTS_MAX, "number of the part"),
	JFIELD("offset", struct part, offset, J_INT, J_REQUIRED, 0, INT64_MAX,
	    "where it begins in the archive"),
	JFIELD("size", struct part, size, J_INT, J_REQUIRED, 1, INT64_MAX,
	    "how many bytes it has"),
};

static int
check_part(const json_t *one, int64_t archive_size, struct err *e)
{
	const char *url = json_str(one, "url");
	struct part p;

	if (!json_is_object(one))
		return err_field(e, "parts", "must be objects");
	if (jfield_decode(one, PART, ARRAY_LEN(PART), J_LENIENT, &p, e) < 0)
		return -1;
	if (!str_starts(url, "https://") || url[8] == '\0')
		return err_field(e, "url", "must be an https:// URL");
	if (p.offset > archive_size || p.size > archive_size - p.offset)
		return err_field(e, "size",
		    "must not go beyond the end of the archive");
	return 0;
}

static int
check_parts(const json_t *parts, int64_t archive_size, struct err *e)
{
	const json_t *one;
	size_t i;

	if (!json_is_array(parts) || json_array_size(parts) == 0 ||
	    json_array_size(parts) > PARTS_MAX)
		return err_field(e, "parts", "must have 1 to %d elements",
		    PARTS_MAX);
	json_array_foreach(parts, i, one)
	{
		if (check_part(one, archive_size, e) < 0)
			return -1;
	}
	return 0;
}

static int
upload_parts(struct call *c, const json_t *body, struct backup_call *r,
    struct err *e)
{
	struct stat st;

	if (read_archive(c, body, r, e) < 0)
		return -1;
	if (stat(r->archive_found, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_NOT_FOUND, CODE_BACKUP_NOT_FOUND,
		    "%.180s does not exist or is not a file", r->archive);
	if (check_parts(json_object_get(body, "parts"), st.st_size, e) < 0)
		return -1;
	return err_set(e, ERR_UNSUPPORTED, CODE_NO_ROUTE_OUT,
	    "archives are not uploaded from inside; read this one with files/{path} instead");
}

int
api_backup_upload_parts(struct call *c, struct err *e)
{
	auto_free struct backup_call *r = xcalloc(1, sizeof(*r));
	auto_json json_t *body = NULL;

	if (request_body(c, BODY_MAX, &body, e) < 0)
		return -1;
	upload_parts(c, body, r, e);
	return explain_failure(c, r, e);
}
