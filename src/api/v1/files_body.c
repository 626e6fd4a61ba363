/*
 * files_body.c: checks the files in the body of a create.
 *
 * Without these checks, a path that cannot be written would fail only when the
 * sandbox runs.  Paths are checked as text.  Only the agent can notice a
 * directory or link of a snapshot that is in the way of a file
 * (src/control/launch.c).
 */
#include "api/v1/files_body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	PATH_BYTES_MAX = 4096,
	SEGMENT_MAX = 255,
	SEGMENTS_MAX = 128, /* the cost of a path is quadratic in them */
	MODE_MAX = 0777
};

/* Writable mounts of a cell (src/agent/cell/cell.c:make_mounts). */
static const char *const PLACES[] = { "/workspace", "/home/user", "/tmp",
	"/var/tmp", "/var/backups", "/dev/shm" };

/* Paths that are read-only even if the class has a writable root. */
static const char *const LOCKED[] = { "/dev", "/proc", "/sys",
	"/sandlease-agent", "/sandlease-ws" };

/* Sets the error for `member` ("": the whole) of file number `i`. */
static int
refuse_file(struct err *e, size_t i, const char *member, const char *why)
{
	char field[ERR_FIELD_MAX];

	snprintf(field, sizeof(field), "files[%zu]%s%s", i,
	    member[0] != '\0' ? "." : "", member);
	return err_field(e, field, "%s", why);
}

/* Makes the file's mode, 420 or "0644", a number. */
static int
read_mode(json_t *file, size_t i, struct err *e)
{
	json_t *m = json_object_get(file, "mode");
	json_int_t n = json_integer_value(m);

	if (m == NULL)
		return 0;
	if (json_is_string(m) &&
	    str_made_of(json_string_value(m), "01234567", 3, 4))
		n = strtol(json_string_value(m), NULL, 8);
	else if (!json_is_integer(m))
		n = -1;
	if (n < 0 || n > MODE_MAX)
		return refuse_file(e, i, "mode", "must be like \"0644\"");
	json_object_set_new(file, "mode", json_integer(n));
	return 0;
}

static int
check_content(const json_t *file, size_t i, struct err *e)
{
	const json_t *text = json_object_get(file, "content");
	const json_t *b64 = json_object_get(file, "contentBase64");
	auto_buf struct buf bytes = { 0 };

	if ((text == NULL) == (b64 == NULL))
		return refuse_file(e, i, "",
		    "needs content or contentBase64, and not both");
	if (text != NULL)
		return json_is_string(text)
		    ? 0
		    : refuse_file(e, i, "content", "must be a string");
	if (!json_is_string(b64) ||
	    !base64_decode_strict(&bytes, json_string_value(b64),
		json_string_length(b64)))
		return refuse_file(e, i, "contentBase64", "is not base64");
	return 0;
}

static int
check_members(const json_t *file, size_t i, unsigned flags, struct err *e)
{
	static const char *const KNOWN[] = { "path", "content", "contentBase64",
		"mode", "secret" };
	const size_t count =
	    ARRAY_LEN(KNOWN) - ((flags & FILES_SECRET) == 0 ? 1 : 0);
	const json_t *secret = json_object_get(file, "secret");
	const char *key;
	json_t *v;

	if (!json_is_object(file))
		return refuse_file(e, i, "", "must be an object");
	json_object_foreach((json_t *)(uintptr_t)file, key, v)
	{
		char field[ERR_FIELD_MAX];
		bool known = false;

		for (size_t k = 0; k < count; k++)
			known |= str_equal(key, KNOWN[k]);
		snprintf(field, sizeof(field), "files[%zu].%.30s", i, key);
		if (!known)
			return err_field(e, field, "is not a known field");
	}
	if (secret != NULL && !json_is_boolean(secret))
		return refuse_file(e, i, "secret", "must be true or false");
	if (json_is_true(secret) && json_object_get(file, "mode") != NULL)
		return refuse_file(e, i, "mode",
		    "of a secret file is 0600, and cannot be chosen");
	return 0;
}

/*
 * The absolute path, without ".", ".." and double slashes; a relative path is
 * below /workspace.  NULL if a segment is too long for any file system, or if
 * there are too many.
 */
static char *
normalise(const char *path)
{
	char *out = xasprintf("%s", path[0] == '/' ? "" : "/workspace");
	int count = 0;

	while (*(path += strspn(path, "/")) != '\0') {
		size_t n = strcspn(path, "/");
		bool up = n == 2 && strncmp(path, "..", 2) == 0;
		char *slash = strrchr(out, '/');

		if (n > SEGMENT_MAX || ++count > SEGMENTS_MAX) {
			free(out);
			return NULL;
		}
		if (up && slash != NULL)
			*slash = '\0';
		if (!up && (n > 1 || path[0] != '.')) {
			char *longer = xasprintf("%s/%.*s", out, (int)n, path);

			free(out);
			out = longer;
		}
		path += n;
	}
	return out;
}

/* Whether the path can only be a directory: "dir/", "dir/." or "dir/.." */
static bool
says_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash != NULL ? slash + 1 : path;

	return str_equal(last, "") || str_equal(last, ".") ||
	    str_equal(last, "..");
}

/* Whether the path is one of `places` (then *is_place is set) or below one. */
static bool
is_below(const char *path, const char *const *places, size_t count,
    bool *is_place)
{
	*is_place = false;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(places[i]);

		if (!str_starts(path, places[i]))
			continue;
		*is_place = path[len] == '\0';
		if (*is_place || path[len] == '/')
			return true;
	}
	return false;
}

/*
 * Checks the path of file number `i`, and adds it to `seen` (path -> number).
 * *in_root is that of files_body_check().
 */
static int
check_path(const json_t *file, size_t i, json_t *seen, int64_t *in_root,
    struct err *e)
{
	const json_t *v = json_object_get(file, "path");
	const char *path = json_string_value(v);
	auto_free char *whole = NULL;
	const json_t *other;
	bool is_place, is_locked;

	if (path == NULL || path[0] == '\0' ||
	    strlen(path) != json_string_length(v) ||
	    strlen(path) > PATH_BYTES_MAX)
		return refuse_file(e, i, "path",
		    "must be a string of 1 to 4096 bytes");
	whole = normalise(path);
	if (whole == NULL)
		return refuse_file(e, i, "path",
		    "has a name of more than 255 bytes in it, or more than 128 names");
	if (!is_below(whole, PLACES, ARRAY_LEN(PLACES), &is_place)) {
		if (is_below(whole, LOCKED, ARRAY_LEN(LOCKED), &is_locked))
			return refuse_file(e, i, "path",
			    "is read-only; /workspace, /home/user and /tmp are not");
		if (*in_root == 0)
			*in_root = (int64_t)i + 1;
	}
	if (is_place || says_directory(path))
		return refuse_file(e, i, "path", "is a directory");
	other = json_object_get(seen, whole);
	if (other != NULL) {
		auto_free char *why =
		    xasprintf("is the same file as files[%lld]",
			(long long)json_integer_value(other));

		return refuse_file(e, i, "path", why);
	}
	json_object_set_new(seen, whole, json_integer((json_int_t)i));
	return 0;
}

/* No file may have the path of another file's directory. */
static int
check_parents(const json_t *seen, struct err *e)
{
	const char *path;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)seen, path, v)
	{
		auto_free char *dir = xstrdup(path);
		char *slash;

		while ((slash = strrchr(dir, '/')) != NULL) {
			const json_t *file;

			*slash = '\0';
			file = json_object_get(seen, dir);
			if (file != NULL)
				return refuse_file(e,
				    (size_t)json_integer_value(file), "path",
				    "is the directory of another file");
		}
	}
	return 0;
}

int
files_body_check(const json_t *files, unsigned flags, int64_t *in_root,
    struct err *e)
{
	auto_json json_t *seen = json_object();
	size_t i;
	json_t *f;

	*in_root = 0;
	json_array_foreach((json_t *)(uintptr_t)files, i, f)
	{
		if (check_members(f, i, flags, e) < 0 ||
		    check_path(f, i, seen, in_root, e) < 0 ||
		    check_content(f, i, e) < 0 || read_mode(f, i, e) < 0)
			return -1;
	}
	return check_parents(seen, e);
}
