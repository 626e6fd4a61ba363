/*
 * fake_io.h: a request and its answer in memory.
 *
 * FAKE(params...) makes a call whose parameters are name, value, name, value;
 * the output of the code under test is in `out`.
 */
#ifndef SANDLEASE_UNIT_FAKE_IO_H
#define SANDLEASE_UNIT_FAKE_IO_H

#include <string.h>

#include "../unit.h"
#include "web/call.h"

struct fake {
	const char *const *params; /* NULL at the end */
	const char *body;
	size_t body_len, body_at;
	size_t bite;    /* at most this many bytes per read; 0: any */
	bool cut;       /* the client goes away after `body` */
	bool gone;      /* writes fail */
	size_t flushes; /* number of flushes */
	struct buf out; /* everything written so far */
};

static inline ssize_t
fake_read(void *ctx, char *to, size_t max)
{
	struct fake *f = ctx;
	size_t n = f->body_len - f->body_at;

	if (n == 0)
		return f->cut ? -1 : 0;
	if (n > max)
		n = max;
	if (f->bite > 0 && n > f->bite)
		n = f->bite;
	memcpy(to, f->body + f->body_at, n);
	f->body_at += n;
	return (ssize_t)n;
}

static inline int
fake_write(void *ctx, const char *from, size_t len)
{
	struct fake *f = ctx;

	if (f->gone)
		return -1;
	buf_add(&f->out, from, len);
	return 0;
}

static inline int
fake_flush(void *ctx)
{
	struct fake *f = ctx;

	f->flushes++;
	return f->gone ? -1 : 0;
}

static inline const char *
fake_param(void *ctx, const char *name)
{
	struct fake *f = ctx;

	for (const char *const *p = f->params; p != NULL && *p != NULL; p += 2)
		if (strcmp(p[0], name) == 0)
			return p[1];
	return NULL;
}

static const struct call_io FAKE_IO = { .read = fake_read,
	.write = fake_write,
	.flush = fake_flush,
	.param = fake_param };

/* Begins a call on *f; fake_end() releases both. */
static inline struct call
fake_begin(struct fake *f, const char *method, const char *path)
{
	struct call c = { .io = &FAKE_IO,
		.io_ctx = f,
		.method = method,
		.path = path,
		.request_id = "r1",
		.trace_id = "t1" };

	f->body_len = f->body != NULL ? strlen(f->body) : 0;
	return c;
}

static inline void
fake_end(struct fake *f, struct call *c)
{
	call_release(c);
	buf_free(&f->out);
}

/* The answer's body: the text after the blank line. */
static inline const char *
fake_answer_body(const struct fake *f)
{
	const char *s = strstr(f->out.data, "\r\n\r\n");

	assert_non_null(s);
	return s != NULL ? s + 4 : "";
}

#endif
