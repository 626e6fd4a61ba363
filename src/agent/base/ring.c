/* ring.c: keeps the newest output of a process in a file of bounded size. */
#include "agent/base/ring.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/utf8.h"

/* The file: a head, a bit for each byte, the bytes. */
enum {
	HEAD_AT = 0,
	BITS_AT = 4096,
	DATA_AT = BITS_AT + RING_BYTES / 8,
	APPEND_MAX = RING_BLOCK, /* in one write */
	RETREAT = RING_BYTES / 8 /* of a reader that was overtaken */
};

static const char MAGIC[8] = "slring1\n";
static const int64_t OFFSET_MAX = (int64_t)1 << 53; /* exact in JSON */

struct head {
	char magic[sizeof(MAGIC)];
	int64_t total, lost;
};

/* ---- writing */

int
ring_create(struct ring *r, const char *path, struct err *e)
{
	*r = (struct ring){ .fd = -1 };
	(void)unlink(path);
	r->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	return r->fd < 0 ? err_errno(e, "%s", path) : 0;
}

static bool
write_at(int fd, const void *data, size_t len, size_t at)
{
	return pwrite(fd, data, len, (off_t)at) == (ssize_t)len;
}

static void
write_head(const struct ring *r)
{
	struct head h = { .total = atomic_load(&r->total),
		.lost = atomic_load(&r->lost) };

	memcpy(h.magic, MAGIC, sizeof(MAGIC));
	(void)write_at(r->fd, &h, sizeof(h), HEAD_AT);
}

/*
 * Writes the bits of the len bytes at `at`.  The last byte of bits may also
 * hold bits of the oldest output.  They are overwritten: ring_first() has
 * dropped the bytes that they belong to.
 */
static bool
write_bits(struct ring *r, size_t at, size_t len, enum ring_stream which)
{
	unsigned char bits[APPEND_MAX / 8 + 2];
	size_t skip = at % 8, end = skip + len;

	memset(bits, which == RING_STDERR ? 0xff : 0, sizeof(bits));
	if (skip > 0) {
		unsigned char old = (unsigned char)((1u << skip) - 1);

		bits[0] = (unsigned char)((r->edge & old) | (bits[0] & ~old));
	}
	if (!write_at(r->fd, bits, (end + 7) / 8, BITS_AT + at / 8))
		return false;
	r->edge = bits[end / 8];
	return true;
}

/*
 * Truncates a file that the tenant has removed: it would take disk space that
 * no directory shows.  The descriptor stays open, because another thread may
 * read.
 */
static void
notice_removal(struct ring *r)
{
	struct stat st;

	if (r->gone || fstat(r->fd, &st) < 0 || st.st_nlink > 0)
		return;
	r->gone = true;
	(void)!ftruncate(r->fd, 0);
}

/* Appends data that does not wrap around; len is at most APPEND_MAX. */
static void
append_piece(struct ring *r, enum ring_stream which, const char *data,
    size_t len)
{
	int64_t total = atomic_load(&r->total);
	size_t at = (size_t)(total % RING_BYTES);

	/* first: readers must know which bytes are about to be overwritten */
	if (total + (int64_t)len > atomic_load(&r->touched))
		atomic_store(&r->touched, total + (long long)len);
	if (r->fd >= 0 && !r->gone &&
	    write_at(r->fd, data, len, DATA_AT + at) &&
	    write_bits(r, at, len, which))
		atomic_store(&r->total, total + (long long)len);
	else
		atomic_fetch_add(&r->lost, (long long)len);
}

void
ring_append(struct ring *r, enum ring_stream which, const char *data,
    size_t len)
{
	if (len == 0)
		return;
	if (r->fd >= 0)
		notice_removal(r);
	while (len > 0) {
		size_t room =
		    (size_t)(RING_BYTES - atomic_load(&r->total) % RING_BYTES);
		size_t n = len < APPEND_MAX ? len : APPEND_MAX;

		n = n < room ? n : room;
		append_piece(r, which, data, n);
		data += n;
		len -= n;
	}
	if (r->fd >= 0 && !r->gone)
		write_head(r);
}

/* ---- reading */

int
ring_open(struct ring *r, const char *path, struct err *e)
{
	auto_fd int fd =
	    open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct head h;
	struct stat st;

	*r = (struct ring){ .fd = -1 };
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (!S_ISREG(st.st_mode) ||
	    pread(fd, &h, sizeof(h), HEAD_AT) != (ssize_t)sizeof(h) ||
	    memcmp(h.magic, MAGIC, sizeof(MAGIC)) != 0 || h.total < 0 ||
	    h.total > OFFSET_MAX || h.lost < 0 || h.lost > OFFSET_MAX)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "%s is not a log file of Sandlease", path);
	r->fd = take_fd(&fd);
	atomic_store(&r->total, h.total);
	atomic_store(&r->touched, h.total);
	atomic_store(&r->lost, h.lost);
	return 0;
}

void
ring_close(struct ring *r)
{
	mem_close_fd(&r->fd);
}

int64_t
ring_first(const struct ring *r)
{
	int64_t touched = atomic_load(&r->touched);

	/* 8 less: their bits share a byte with bits of the newest output */
	return touched > RING_BYTES ? touched - RING_BYTES + 8 : 0;
}

static bool
read_at(int fd, void *to, size_t len, size_t at)
{
	return pread(fd, to, len, (off_t)at) == (ssize_t)len;
}

/* Reads in two parts if the block wraps, which is at a whole byte of bits. */
static bool
read_block(const struct ring *r, struct ring_block *b)
{
	size_t at = (size_t)(b->offset % RING_BYTES), skip = at % 8;
	size_t n = b->len < RING_BYTES - at ? b->len : RING_BYTES - at;
	size_t rest = b->len - n;

	if (!read_at(r->fd, b->data, n, DATA_AT + at) ||
	    !read_at(r->fd, b->bits, (skip + n + 7) / 8, BITS_AT + at / 8))
		return false;
	return rest == 0 ||
	    (read_at(r->fd, b->data + n, rest, DATA_AT) &&
		read_at(r->fd, b->bits + (skip + n) / 8, (rest + 7) / 8,
		    BITS_AT));
}

static enum ring_stream
stream_at(const struct ring_block *b, size_t at)
{
	size_t bit = (size_t)(b->offset % 8) + at;

	return (b->bits[bit / 8] >> (bit % 8) & 1) != 0 ? RING_STDERR
							: RING_STDOUT;
}

/* Leaves a character that the end of the block cuts to the next block. */
static void
drop_cut_character(struct ring_block *b)
{
	size_t tail = 1;

	while (tail < UTF8_LEN_MAX &&
	    stream_at(b, b->len - tail - 1) == stream_at(b, b->len - 1))
		tail++;
	b->len -= tail - utf8_whole(b->data + b->len - tail, tail);
}

bool
ring_read(const struct ring *r, int64_t offset, struct ring_block *b)
{
	int64_t first = ring_first(r);

	b->offset = offset > first ? offset : first;
	for (;;) {
		int64_t left = atomic_load(&r->total) - b->offset;

		if (left <= 0)
			return false;
		b->len = left < RING_BLOCK ? (size_t)left : RING_BLOCK;
		/* the read fails if notice_removal() truncated the file */
		if (r->fd < 0 || !read_block(r, b))
			return false;
		if (left > RING_BLOCK)
			drop_cut_character(b);
		first = ring_first(r);
		if (b->offset >= first)
			return true;
		/* overwritten during the read: retry further from the writer */
		b->offset = first + RETREAT;
	}
}

size_t
ring_run(const struct ring_block *b, size_t at, enum ring_stream *which)
{
	size_t end = at + 1;

	*which = stream_at(b, at);
	while (end < b->len && stream_at(b, end) == *which)
		end++;
	return end - at;
}
