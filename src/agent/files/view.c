/* view.c: opens a file to send it to the client. */
#include "agent/files/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/files/files.h"
#include "agent/files/mime.h"
#include "common/mem.h"
#include "common/utf8.h"

int
view_open(const char *path, struct view *v, struct err *e)
{
	struct stat st;

	v->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (v->fd < 0 || fstat(v->fd, &st) < 0)
		return files_fail(e, path);
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return files_fail(e, path);
	}
	v->regular = S_ISREG(st.st_mode);
	v->size = v->regular ? st.st_size : 0;
	v->type = mime_of_fd(path, v->fd);
	return 0;
}

void
view_close(struct view *v)
{
	mem_close_fd(&v->fd);
}

static int
too_large(const char *path, const struct view *v, int64_t max, struct err *e)
{
	return err_set(e, ERR_TOO_LARGE, CODE_FILE_TOO_LARGE,
	    "%.120s has %lld bytes; at most %lld can be read at once", path,
	    (long long)v->size, (long long)max);
}

/* Copies v to the descriptor `to`, but not much more than `max` bytes. */
static int
spool(struct view *v, int64_t max, int to)
{
	auto_free char *buf = xmalloc(BLOCKS_BYTES);

	while (v->size <= max) {
		ssize_t n = read(v->fd, buf, BLOCKS_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (n < 0 && errno == EAGAIN))
			break;
		if (n < 0 || files_put(to, buf, (size_t)n) < 0)
			return -1;
		v->size += n;
	}
	return 0;
}

int
view_settle(const char *path, int64_t max, struct view *v, struct err *e)
{
	static struct lock one = LOCK_INIT(LOCK_VIEW);
	auto_fd int copy = -1;
	int rc;

	if (v->size > max)
		return too_large(path, v, max, e);
	if (v->size > 0)
		return 0;
	copy = memfd_create("view", MFD_CLOEXEC);
	if (copy < 0)
		return files_fail(e, path);
	/* /dev/zero fills the memory up to max: only for one call at a time */
	lock_take(&one);
	rc = spool(v, max, copy);
	lock_drop(&one);
	if (rc < 0)
		return files_fail(e, path);
	if (v->size > max)
		return too_large(path, v, max, e);
	view_close(v);
	v->fd = take_fd(&copy);
	v->regular = true;
	v->type = mime_of_fd(path, v->fd);
	return 0;
}

struct blocks
view_blocks(const struct view *v, bool text)
{
	if (v->regular)
		lseek(v->fd, 0, SEEK_SET);
	return (struct blocks){ .fd = v->fd,
		.text = text,
		.left = v->size > 0 ? v->size : INT64_MAX };
}

bool
view_is_utf8(const struct view *v, bool (*tick)(void *ctx), void *ctx)
{
	auto_blocks struct blocks b = view_blocks(v, true);
	const char *data;
	ssize_t n;

	if (!v->regular)
		return false; /* a fifo cannot be read a second time */
	while ((n = blocks_next(&b, &data)) > 0)
		if (!utf8_valid(data, (size_t)n) || !tick(ctx))
			return false;
	return n == 0;
}

bool
view_is_text(const struct view *v, bool (*tick)(void *ctx), void *ctx)
{
	return mime_is_text(v->type) && view_is_utf8(v, tick, ctx);
}
