/* execution_keep.c: keeps what an attempt has left. */
#include "control/execution_keep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/attempt.h"
#include "provider/store/artifact.h"

enum {
	MEMORY_BYTES = 1024 * 1024, /* of one question */
	LOG_BYTES_MAX = 16 * 1024 * 1024,
	TIMES_BYTES_MAX = 8 * 1024 * 1024,
	LIST_BYTES_MAX = 8 * 1024 * 1024,
	FILES_MAX = 1000,
	PATH_BYTES_MAX = 1024,
	ALL_MS = 20000, /* for everything */
	KEPT_MS = 1000
};

struct keeping {
	struct control *ctl;
	struct agent_target target;
	const char *id;
	char folder[ARTIFACT_ORG_MAX];
	int memory;
	char *piece;
	int64_t room; /* bytes that the org may still keep */
	int64_t deadline_ms;
	json_t *artifacts;
};

/* Calls `use` with each piece of a file, of which at most `max` bytes are read. */
typedef int piece_fn(void *ctx, const char *data, size_t len, struct err *e);

static int
read_file(struct keeping *k, const char *file, int64_t max, piece_fn *use,
    void *ctx, int64_t *first, struct err *e)
{
	struct agent_attempt_file f = { .id = k->id, .file = file };
	int64_t bytes, offset, sum = 0;

	do {
		if (agent_attempt_read(&k->ctl->provider, &k->target, &f,
			k->memory, k->deadline_ms, &bytes, &offset, e) < 0)
			return -1;
		if (bytes > MEMORY_BYTES || sum + bytes > max)
			return err_set(e, ERR_TOO_LARGE, CODE_VALIDATION_FAILED,
			    "%s has more than %lld bytes", file,
			    (long long)max);
		if (pread(k->memory, k->piece, (size_t)bytes, 0) != bytes)
			return err_errno(e, "memfd");
		if (sum == 0)
			*first = offset;
		sum += bytes;
		f.offset = offset + bytes;
		if (use(ctx, k->piece, (size_t)bytes, e) < 0)
			return -1;
		/* a piece that does not fill the memory is the last */
	} while (bytes == MEMORY_BYTES);
	return 0;
}

static int
add_to_artifact(void *ctx, const char *data, size_t len, struct err *e)
{
	return artifact_add(ctx, data, len, e);
}

static int
add_to_buf(void *ctx, const char *data, size_t len, struct err *e)
{
	(void)e;
	buf_add(ctx, data, len);
	return 0;
}

/* One file as an artifact; `path` is that of a collected file, or "". */
static int
keep_file(struct keeping *k, const char *file, const char *kind,
    const char *path, int64_t max, int64_t *first, struct err *e)
{
	auto_artifact struct artifact_file f = ARTIFACT_NONE;
	char hash[DIGEST_HEX_MAX];

	if (artifact_begin(k->ctl->conf, k->folder, &f, e) < 0 ||
	    read_file(k, file, max, add_to_artifact, &f, first, e) < 0)
		return -1;
	if (f.bytes > k->room)
		return err_set(e, ERR_LIMITED, CODE_QUOTA_EXCEEDED,
		    "the org keeps as much of its executions as it may (%lld MB)",
		    (long long)k->ctl->conf->quota_artifact_mb);
	/* of output, a crash of the machine may cost the last seconds */
	if (artifact_end(&f, path[0] != '\0', hash, e) < 0)
		return -1;
	CRASH_POINT("execution.file");
	k->room -= f.bytes;
	json_array_append_new(k->artifacts,
	    json_pack("{s:s, s:s, s:s, s:I}", "kind", kind, "path", path,
		"sha256", hash, "bytes", (json_int_t)f.bytes));
	return 0;
}

static int
keep_output(struct keeping *k, json_t *told, struct err *e)
{
	int64_t first = 0, ignored;

	if (keep_file(k, "log", "log", "", LOG_BYTES_MAX, &first, e) < 0 ||
	    keep_file(k, "times", "times", "", TIMES_BYTES_MAX, &ignored, e) <
		0)
		return -1;
	json_object_set_new(told, "logFirst", json_integer(first));
	if (json_integer_value(
		json_object_get(json_array_get(k->artifacts, 0), "bytes")) == 0)
		return err_set(e, ERR_CONFLICT, CODE_ARTIFACT_GONE,
		    "the output is gone: the session's files were changed");
	return 0;
}

/* The wrapper's list of files, which a tenant may have changed. */
static int
read_list(struct keeping *k, json_t **out, struct err *e)
{
	auto_buf struct buf text = { 0 };
	int64_t ignored;

	if (read_file(k, "list", LIST_BYTES_MAX, add_to_buf, &text, &ignored,
		e) < 0)
		return -1;
	if (text.len == 0 || json_parse(text.data, text.len, out, e) < 0)
		return err_set(e, ERR_CONFLICT, CODE_ARTIFACT_GONE,
		    "the list of collected files cannot be read");
	return 0;
}

static int
keep_collected(struct keeping *k, struct err *e)
{
	int64_t left = k->ctl->conf->artifact_mb << 20, ignored;
	auto_json json_t *list = NULL;
	const json_t *files;
	bool too_long = false;
	const char *why;

	if (read_list(k, &list, e) < 0)
		return -1;
	files = json_object_get(list, "files");
	for (size_t i = 0; i < json_array_size(files) && i < FILES_MAX; i++) {
		const char *path = json_str(json_array_get(files, i), "path");
		int64_t before = k->room;
		char number[16];

		if (path[0] == '\0' || strlen(path) > PATH_BYTES_MAX) {
			too_long = true;
			continue;
		}
		snprintf(number, sizeof(number), "%zu", i);
		if (keep_file(k, number, "file", path, left, &ignored, e) < 0)
			return err_wrap(e, "%.100s", path);
		left -= before - k->room;
	}
	if (too_long)
		return err_set(e, ERR_INVALID, CODE_NAME_TOO_LONG,
		    "the path of a file has more than %d bytes",
		    PATH_BYTES_MAX);
	why = json_str(list, "why");
	if (why[0] != '\0')
		return err_set(e, ERR_CONFLICT, CODE_ARTIFACT_GONE, "%.200s",
		    why);
	return 0;
}

static int
read_room(struct keeping *k, const char *tenant, struct err *e)
{
	const int64_t quota_mb = k->ctl->conf->quota_artifact_mb;
	auto_rows struct rows *r = NULL;

	k->room = INT64_MAX;
	if (quota_mb == 0)
		return 0;
	if (STORE_RUN(k->ctl->store, STMT_ARTIFACT_ROOM, &r, e, tenant) < 0)
		return -1;
	k->room = (quota_mb << 20) - rows_int(r, 0, "bytes");
	return 0;
}

static bool
left_nothing(const struct agent_attempt *a)
{
	return a->bytes == 0 && !a->collected;
}

void
execution_keep(struct control *ctl, const struct session_row *s, const char *id,
    const struct agent_attempt *a, json_t *told)
{
	struct keeping k = { .ctl = ctl,
		.target = control_target(s),
		.id = id,
		.deadline_ms = clock_ms() + ALL_MS };
	auto_free char *piece = NULL;
	auto_fd int memory = -1;
	struct err e = { 0 };

	json_object_set_new(told, "logBytes", json_integer(a->bytes));
	if (left_nothing(a))
		return;
	k.artifacts = json_array();
	artifact_org(s->tenant, k.folder);
	memory = agent_attempt_memory(MEMORY_BYTES, &e);
	k.memory = memory;
	k.piece = piece = xmalloc(MEMORY_BYTES);
	if (memory < 0 || read_room(&k, s->tenant, &e) < 0 ||
	    (a->bytes > 0 && keep_output(&k, told, &e) < 0) ||
	    (a->collected && keep_collected(&k, &e) < 0)) {
		log_err(LOG_WARN, "execution_keep", &e);
		json_object_set_new(told, "artifactsError",
		    json_lossy(err_told(&e)));
	}
	json_object_set_new(told, "artifacts", k.artifacts);
	json_object_set_new(told, "host", json_string(ctl->conf->host_name));
	json_object_set_new(told, "folder", json_string(k.folder));
	json_object_set_new(told, "quota",
	    json_integer(ctl->conf->quota_artifact_mb << 20));
}

void
execution_keep_end(struct control *ctl, const struct session_row *s,
    const char *id)
{
	struct agent_target t = control_target(s);
	struct err e = { 0 };

	if (agent_attempt_kept(&ctl->provider, &t, id, clock_ms() + KEPT_MS,
		&e) < 0)
		log_err(LOG_INFO, "attempt_kept", &e);
}
