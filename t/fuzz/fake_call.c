/* fake_call.c: makes a request out of the bytes of a fuzzing input. */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

static ssize_t
take(void *ctx, char *to, size_t max)
{
	struct fuzz_call *f = ctx;
	size_t n = f->body_len < max ? f->body_len : max;

	if (n > 0)
		memcpy(to, f->body, n);
	f->body += n;
	f->body_len -= n;
	return (ssize_t)n;
}

static int
forget(void *ctx, const char *from, size_t len)
{
	(void)ctx, (void)from, (void)len;
	return 0;
}

static int
flush(void *ctx)
{
	(void)ctx;
	return 0;
}

static const char *
param(void *ctx, const char *name)
{
	const struct fuzz_call *f = ctx;

	if (strcmp(name, "QUERY_STRING") == 0)
		return f->query;
	if (strcmp(name, "HTTP_X_SESSION_ID") == 0)
		return f->shell;
	if (strcmp(name, "CONTENT_LENGTH") == 0)
		return f->length;
	return NULL;
}

static const struct call_io IO = {
	.read = take,
	.write = forget,
	.flush = flush,
	.param = param,
};

/* Copies the next line, cut to `size`; like nginx, lets no NUL through. */
static void
line(const char **at, const char *end, char *out, size_t size)
{
	size_t n = 0;

	for (; *at < end && **at != '\n'; (*at)++)
		if (**at != '\0' && n < size - 1)
			out[n++] = **at;
	out[n] = '\0';
	if (*at < end)
		(*at)++;
}

void
fuzz_call_make(struct fuzz_call *f, const uint8_t *data, size_t len)
{
	const char *at = (const char *)data, *end = at + len;

	*f = (struct fuzz_call){ 0 };
	line(&at, end, f->method, sizeof(f->method));
	line(&at, end, f->path, sizeof(f->path));
	line(&at, end, f->query, sizeof(f->query));
	line(&at, end, f->shell, sizeof(f->shell));
	f->body = at;
	f->body_len = (size_t)(end - at);
	snprintf(f->length, sizeof(f->length), "%zu", f->body_len);
	f->call.io = &IO;
	f->call.io_ctx = f;
	f->call.method = f->method;
	f->call.path = f->path;
}
