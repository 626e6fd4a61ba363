/* given.c: writes the files that an execution brings, and removes secret ones. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt/internal.h"
#include "agent/files/files.h"
#include "agent/files/secret_list.h"
#include "agent/files/temp_file.h"
#include "common/base64.h"
#include "common/mem.h"

enum { SECRET_MODE = 0600 };

static bool
is_secret(const json_t *file)
{
	return json_is_true(json_object_get(file, "secret"));
}

/*
 * The path of a secret file without symbolic links in it, as an archive of the
 * session's files would name it.  Its directory is made.
 */
static int
find_place(char path[FILES_PATH_MAX], struct err *e)
{
	auto_free char *real = NULL;
	auto_free char *name = NULL;
	char *slash;

	if (files_make_parents(path, e) < 0)
		return -1;
	slash = strrchr(path, '/');
	name = xstrdup(slash + 1);
	*slash = '\0';
	real = realpath(path[0] != '\0' ? path : "/", NULL);
	*slash = '/';
	if (real == NULL)
		return files_fail(e, path);
	if (snprintf(path, FILES_PATH_MAX, "%s/%s", real, name) >=
	    FILES_PATH_MAX)
		return err_set(e, ERR_INVALID, CODE_NAME_TOO_LONG,
		    "the path is too long");
	return 0;
}

/* Lists the secret files, before one of them is written. */
static int
list_secrets(const struct attempt *a, struct err *e)
{
	auto_buf struct buf paths = { 0 };

	for (size_t i = 0; i < json_array_size(a->spec.files); i++) {
		const json_t *file = json_array_get(a->spec.files, i);
		char path[FILES_PATH_MAX];

		if (!is_secret(file))
			continue;
		if (files_resolve("/workspace", json_str(file, "path"), path,
			e) < 0 ||
		    find_place(path, e) < 0)
			return -1;
		buf_add(&paths, path, strlen(path) + 1);
	}
	return paths.len == 0 ? 0 : secret_list_write(a->rec.id, &paths, e);
}

static int
write_file(const json_t *file, struct err *e)
{
	const json_t *text = json_object_get(file, "content");
	const char *b64 = json_str(file, "contentBase64");
	const json_t *mode = json_object_get(file, "mode");
	struct temp_file_source from = { .fd = -1 };
	auto_buf struct buf bytes = { 0 };
	char path[FILES_PATH_MAX];

	if (files_resolve("/workspace", json_str(file, "path"), path, e) < 0)
		return -1;
	if (text != NULL) {
		from.data = json_string_value(text);
		from.len = json_string_length(text);
	} else if (base64_decode(&bytes, b64, strlen(b64))) {
		from.data = bytes.data;
		from.len = bytes.len;
	} else {
		return err_field(e, "files", "contentBase64 is not base64");
	}
	if (!is_secret(file))
		return temp_file_write_file(path, &from,
		    mode != NULL ? (int)json_integer_value(mode) : -1, e);
	if (find_place(path, e) < 0)
		return -1;
	(void)unlink(path); /* a link would lead to a file that is not listed */
	return temp_file_write_file(path, &from, SECRET_MODE, e);
}

int
attempt_files_write(const struct attempt *a, struct err *e)
{
	if (list_secrets(a, e) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(a->spec.files); i++)
		if (write_file(json_array_get(a->spec.files, i), e) < 0)
			return -1;
	return 0;
}

void
attempt_files_remove(const struct attempt *a)
{
	for (size_t i = 0; i < json_array_size(a->spec.files); i++)
		if (is_secret(json_array_get(a->spec.files, i))) {
			secret_list_remove(a->rec.id);
			return;
		}
}
