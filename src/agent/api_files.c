/* api_files.c: POST api/write and api/read. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "agent/base64.h"
#include "agent/files.h"
#include "agent/mime.h"
#include "agent/routes.h"
#include "agent/scene.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"

enum {
	WRITE_BODY_MAX = 48 * 1024 * 1024,
	READ_BODY_MAX = 64 * 1024,
	SMALL_BODY = 1024 * 1024
};

enum encoding { ENC_UTF8, ENC_UTF_8, ENC_BASE64, ENC_ABSENT = -1 };
static const char *const ENCODINGS[] = { "utf8", "utf-8", "base64", NULL };

struct file_body {
	int encoding;
};

static const struct jfield FILE_BODY[] = {
	JFIELD_ENUM("encoding", struct file_body, encoding, 0, ENCODINGS,
	    "how content is encoded"),
};

/* The path as the caller wrote it, where that is, and the encoding. */
struct target {
	const char *path; /* borrowed from the body */
	char where[FILES_PATH_MAX];
	int encoding;
};

static int
decode(struct call *c, const json_t *body, const char *operation,
    struct target *t, struct err *e)
{
	struct file_body b = { .encoding = ENC_ABSENT };
	char shell[SHELL_NAME_MAX], cwd[SHELL_PATH_MAX];

	if (scene_text(body, "path", 1, FILES_PATH_MAX - 1, &t->path, e) < 0)
		return -1;
	scene_context(c,
	    json_pack("{s:s, s:s}", "path", t->path, "operation", operation));
	if (jfield_decode(body, FILE_BODY, ARRAY_LEN(FILE_BODY), J_LENIENT, &b,
		e) < 0 ||
	    scene_shell(c, body, shell, e) < 0)
		return -1;
	t->encoding = b.encoding;
	shell_cwd(shell, cwd);
	return files_resolve(cwd, t->path, t->where, e);
}

/* ---- write */

static int
write_body(struct call *c, const json_t *body, struct err *e)
{
	auto_buf struct buf decoded = { 0 };
	auto_json json_t *answer = NULL;
	struct files_source from = { .fd = -1 };
	const json_t *content = json_object_get(body, "content");
	char at[CLOCK_ISO_MAX];
	struct target t;

	if (decode(c, body, "file.write", &t, e) < 0)
		return -1;
	if (!json_is_string(content))
		return err_field(e, "content", "must be a string");
	from.data = json_string_value(content);
	from.len = json_string_length(content);
	if (t.encoding == ENC_BASE64) {
		if (!base64_decode(&decoded, from.data, from.len))
			return err_field(e, "content", "is not valid base64");
		from.data = decoded.data;
		from.len = decoded.len;
	}
	if (files_write(t.where, &from, -1, e) < 0)
		return -1;
	clock_iso(at);
	answer = json_pack("{s:b, s:s, s:s}", "success", 1, "path", t.path,
	    "timestamp", at);
	call_reply(c, 200, answer);
	return 0;
}

int
api_write(struct call *c, struct err *e)
{
	static pthread_mutex_t one_large = PTHREAD_MUTEX_INITIALIZER;
	auto_json json_t *body = NULL;
	int64_t len;
	bool large =
	    !str_to_int(call_param(c, "CONTENT_LENGTH"), 0, SMALL_BODY, &len);
	int rc;

	/* a large body is held several times over: one after the other */
	if (large)
		pthread_mutex_lock(&one_large);
	rc = scene_body(c, WRITE_BODY_MAX, &body, e);
	if (rc == 0)
		rc = write_body(c, body, e);
	json_release(&body);
	if (large)
		pthread_mutex_unlock(&one_large);
	return rc;
}

/* ---- read */

/* By hand rather than as one JSON value: content can be large. */
static void
reply_read(struct call *c, const struct target *t, const char *type,
    bool base64, const struct buf *content)
{
	auto_buf struct buf text = { 0 };
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	buf_str(&text, "{\"success\":true,\"path\":\"");
	utf8_json(&text, t->path, strlen(t->path));
	buf_fmt(&text,
	    "\",\"encoding\":\"%s\",\"isBinary\":%s,\"mimeType\":\"%s\","
	    "\"size\":%zu,\"timestamp\":\"%s\",\"content\":\"",
	    base64 ? "base64" : "utf-8",
	    mime_is_text(type) && !base64 ? "false" : "true", type,
	    content->len, at);
	call_begin(c, 200, "application/json");
	call_write(c, text.data, text.len);
	text.len = 0;
	if (base64) {
		base64_encode(&text, content->data, content->len);
		call_write(c, text.data != NULL ? text.data : "", text.len);
	} else {
		scene_write_text(c, content->data, content->len);
	}
	call_write(c, "\"}", 2);
}

int
api_read(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	auto_buf struct buf content = { 0 };
	const char *type;
	int64_t actual = 0;
	struct target t;
	bool base64;

	if (scene_body(c, READ_BODY_MAX, &body, e) < 0 ||
	    decode(c, body, "file.read", &t, e) < 0)
		return -1;
	if (files_read(t.where, &content, &actual, e) < 0) {
		if (e->kind == ERR_TOO_LARGE)
			scene_context(c,
			    json_pack("{s:s, s:s, s:i, s:I}", "path", t.path,
				"operation", "file.read", "maxSize",
				FILES_READ_MAX, "actualSize",
				(json_int_t)actual));
		return -1;
	}
	type = mime_of(t.where, content.data, content.len);
	base64 = t.encoding == ENC_BASE64;
	/* what is not UTF-8 would not survive as text */
	if (t.encoding == ENC_ABSENT)
		base64 = !mime_is_text(type) ||
		    !utf8_valid(content.data, content.len);
	reply_read(c, &t, type, base64, &content);
	return 0;
}
