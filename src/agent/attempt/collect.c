/* collect.c: copies the files that an execution leaves, for the host to read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/attempt/internal.h"
#include "agent/files/files.h"
#include "agent/files/secret_list.h"
#include "agent/files/walk.h"
#include "common/clock.h"
#include "common/glob.h"
#include "common/mem.h"

enum {
	FILES_MAX = 1000,
	ENTRIES_MAX = 1000 * 1000,
	BUDGET_MS = 20000,
	PIECE = 64 * 1024
};

#define PLACE "/workspace"
#define OURS ".sandlease" /* has the context, which the host knows */

struct collecting {
	const struct attempt_spec *spec;
	const char *id;
	json_t *files; /* [{path, bytes}] */
	int64_t room;  /* bytes that may still be copied */
	char why[160]; /* why some are missing; "" */
};

static void
set_why(struct collecting *c, const char *path, const char *why)
{
	if (c->why[0] == '\0')
		snprintf(c->why, sizeof(c->why), "%.100s: %.50s", path, why);
}

static bool
is_wanted(const struct collecting *c, const char *path)
{
	for (size_t i = 0; i < json_array_size(c->spec->collect); i++)
		if (glob_match(json_string_value(
				   json_array_get(c->spec->collect, i)),
			path))
			return true;
	return false;
}

/* Copies up to `room` bytes.  -1 with errno, EFBIG if there are more. */
static int64_t
copy_bytes(int from, int to, int64_t room)
{
	auto_free char *piece = xmalloc(PIECE);
	int64_t done = 0;
	ssize_t n;

	while ((n = read(from, piece, PIECE)) > 0) {
		if (n > room - done) {
			errno = EFBIG;
			return -1;
		}
		if (files_put(to, piece, (size_t)n) < 0)
			return -1;
		done += n;
	}
	return n < 0 ? -1 : done;
}

/* A secret file of another execution; see secret_list_has(). */
static bool
is_secret(const char *path)
{
	auto_free char *whole = xasprintf(PLACE "/%s", path);

	return secret_list_has(whole);
}

/* False: no more files are to be collected. */
static bool
collect_file(struct collecting *c, int dir, const char *name, const char *path)
{
	size_t number = json_array_size(c->files);
	char to_path[JOURNAL_PATH_MAX];
	auto_fd int from = -1;
	auto_fd int to = -1;
	struct stat st;
	int64_t bytes;

	if (number == FILES_MAX) {
		set_why(c, path, "there are more than 1000 files");
		return false;
	}
	/* O_NONBLOCK: a fifo that took the file's place must not stop us */
	from =
	    openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (errno != ENOENT)
			set_why(c, path, "cannot be read");
		return true;
	}
	if (is_secret(path))
		return true;
	journal_copy(c->id, number, to_path);
	to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	bytes = to < 0 ? -1 : copy_bytes(from, to, c->room);
	if (bytes < 0) {
		set_why(c, path,
		    errno == EFBIG ? "there are too many bytes"
				   : strerror(errno));
		(void)unlink(to_path);
		return errno == EFBIG || errno == EACCES;
	}
	c->room -= bytes;
	json_array_append_new(c->files,
	    json_pack("{s:o, s:I}", "path", json_bytes(path, strlen(path)),
		"bytes", (json_int_t)bytes));
	return true;
}

static void
collect_tree(struct collecting *c, int top)
{
	auto_walk struct walk w = { .paths = true };
	int64_t until_ms = clock_ms() + BUDGET_MS;
	enum walk_step step;
	int entries = 0;

	if (walk_open(&w, top) < 0)
		return;
	while ((step = walk_next(&w)) != WALK_END && step != WALK_LOST) {
		if (++entries > ENTRIES_MAX || clock_ms() > until_ms) {
			set_why(c, PLACE, "it has too many files");
			return;
		}
		if (step != WALK_ENTRY || str_equal(w.path.data, OURS) ||
		    files_is_beside(w.name))
			continue;
		if (S_ISDIR(w.st.st_mode))
			(void)walk_enter(&w);
		else if (S_ISREG(w.st.st_mode) && is_wanted(c, w.path.data) &&
		    !collect_file(c, w.at, w.name, w.path.data))
			return;
	}
}

bool
attempt_collect(const struct attempt *a)
{
	auto_json json_t *list = NULL;
	struct collecting c = { .spec = &a->spec,
		.id = a->rec.id,
		.files = json_array(),
		.room = a->spec.collect_bytes };
	int top;

	if (json_array_size(a->spec.collect) == 0) {
		json_decref(c.files);
		return false;
	}
	journal_copies(c.id);
	top = open(PLACE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top >= 0)
		collect_tree(&c, top);
	list =
	    json_pack("{s:o, s:o}", "files", c.files, "why", json_lossy(c.why));
	journal_copies_write(c.id, list);
	return true;
}
