/* read.c: copies what an attempt has left into memory of the host. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/attempt/attempt.h"
#include "agent/attempt/internal.h"
#include "common/mem.h"

enum { PIECE = 64 * 1024, FILE_NAME_MAX = 16 };

struct read_body {
	char id[ATTEMPT_ID_MAX];
	char file[FILE_NAME_MAX];
	int64_t offset;
};

/* clang-format off */
static const struct jfield READ[] = {
	JFIELD("id", struct read_body, id, J_STR, J_REQUIRED, 1, ATTEMPT_ID_MAX - 1, "id of the attempt"),
	JFIELD("file", struct read_body, file, J_STR, J_REQUIRED, 1, FILE_NAME_MAX - 1, "log, times, list, or the number of a file in that list"),
	JFIELD("offset", struct read_body, offset, J_INT, J_REQUIRED, 0, INT64_MAX, "of the first byte"),
};
/* clang-format on */

/* The host's memory has a fixed size: no more can be written. */
struct target {
	int fd;
	size_t room, len;
};

static bool
put(struct target *t, const char *data, size_t len)
{
	if (len > t->room - t->len)
		len = t->room - t->len;
	while (len > 0) {
		ssize_t n = pwrite(t->fd, data, len, (off_t)t->len);

		if (n <= 0)
			return false;
		t->len += (size_t)n;
		data += n;
		len -= (size_t)n;
	}
	return t->len < t->room;
}

/* *offset becomes that of the first byte: older ones may be overwritten. */
static void
read_log(const char *id, int64_t *offset, struct target *t)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	char path[JOURNAL_PATH_MAX];
	struct ring log = { .fd = -1 };
	struct err ignored;
	int64_t at = *offset;

	journal_log(id, path);
	if (ring_open(&log, path, &ignored) < 0)
		return;
	while (ring_read(&log, at, b)) {
		if (t->len == 0)
			*offset = b->offset;
		at = b->offset + (int64_t)b->len;
		if (!put(t, b->data, b->len))
			break;
	}
	ring_close(&log);
}

static void
read_plain(int fd, int64_t offset, struct target *t)
{
	auto_free char *piece = xmalloc(PIECE);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	while ((n = pread(fd, piece, PIECE, offset + (off_t)t->len)) > 0 &&
	    put(t, piece, (size_t)n))
		;
}

int
attempt_read(const json_t *msg, const struct channel_fds *fds, json_t *reply,
    struct err *e)
{
	struct target t = { .fd = fds->count > 0 ? fds->fd[0] : -1 };
	struct read_body b = { 0 };
	auto_fd int fd = -1;
	struct stat st;

	if (jfield_decode(msg, READ, ARRAY_LEN(READ), J_LENIENT, &b, e) < 0)
		return -1;
	if (!journal_is_id(b.id) || !journal_is_file(b.file))
		return err_field(e, "file", "is not an attempt's");
	if (t.fd < 0 || fstat(t.fd, &st) < 0 || st.st_size <= 0)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the message must have a descriptor");
	t.room = (size_t)st.st_size;
	if (str_equal(b.file, "log")) {
		read_log(b.id, &b.offset, &t);
	} else {
		fd = journal_open(b.id, b.file);
		read_plain(fd, b.offset, &t);
	}
	json_object_set_new(reply, "bytes", json_integer((json_int_t)t.len));
	json_object_set_new(reply, "offset", json_integer(b.offset));
	return 0;
}
