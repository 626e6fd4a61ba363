/* str.c: helpers for bounded strings, and a growing buffer. */
#include "common/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

bool
str_copy(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);

	if (len >= size) {
		dst[0] = '\0';
		return false;
	}
	memcpy(dst, src, len + 1);
	return true;
}

bool
str_empty(const char *s)
{
	return s == NULL || s[0] == '\0';
}

bool
str_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool
str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_made_of(const char *s, const char *set, size_t min, size_t max)
{
	size_t len = strlen(s);

	return len >= min && len <= max && strspn(s, set) == len;
}

void
str_mask_controls(char *s)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)s[0], d = (unsigned char)s[1];

		if (c < 0x20 || c == 0x7f)
			*s = '?';
		else if (c == 0xc2 && d >= 0x80 && d <= 0x9f)
			s[0] = s[1] = '?';
	}
}

bool
str_to_int(const char *s, int64_t min, int64_t max, int64_t *out)
{
	int64_t n = 0;

	if (!str_made_of(s, "0123456789", 1, 18))
		return false;
	for (; *s != '\0'; s++)
		n = n * 10 + (*s - '0');
	if (n < min || n > max)
		return false;
	*out = n;
	return true;
}

bool
str_list_has(const char *list, const char *item)
{
	size_t want = strlen(item);

	while (*list != '\0') {
		size_t len = strcspn(list, ",");
		const char *s = list, *end = list + len;

		while (s < end && isspace((unsigned char)*s))
			s++;
		while (end > s && isspace((unsigned char)end[-1]))
			end--;
		if (end > s && (size_t)(end - s) == want &&
		    memcmp(s, item, want) == 0)
			return true;
		list += len;
		if (*list == ',')
			list++;
	}
	return false;
}

char *
buf_room(struct buf *b, size_t len)
{
	if (b->len + len + 1 > b->cap) {
		size_t cap = b->cap > 0 ? b->cap : 256;

		while (cap < b->len + len + 1)
			cap *= 2;
		b->data = xrealloc(b->data, cap);
		b->cap = cap;
	}
	return b->data + b->len;
}

char *
str_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	int len = slash != NULL ? (int)(slash + 1 - path) : 0;

	return xasprintf("%.*s%s", len, path, name);
}

void
buf_add(struct buf *b, const void *data, size_t len)
{
	char *to = buf_room(b, len);

	if (len > 0)
		memcpy(to, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void
buf_add_tail(struct buf *b, const void *data, size_t len, size_t max)
{
	if (len > max) {
		data = (const char *)data + (len - max);
		len = max;
	}
	buf_add(b, data, len);
	if (b->len > max) {
		memmove(b->data, b->data + b->len - max, max);
		b->len = max;
		b->data[max] = '\0';
	}
}

void
buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_fmt(struct buf *b, const char *fmt, ...)
{
	char *to = buf_room(b, 0); /* often there is room for all of it */
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(to, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	if ((size_t)n >= b->cap - b->len) {
		to = buf_room(b, (size_t)n);
		va_start(ap, fmt);
		vsnprintf(to, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

void
buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}
