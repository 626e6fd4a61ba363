/* omit.c: decides which files a backup omits. */
#include "agent/archive/omit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "common/glob.h"
#include "common/mem.h"

enum { PIECE = 64 * 1024 };

static void
read_all(struct buf *to, int fd)
{
	ssize_t n;

	do {
		n = read(fd, buf_room(to, PIECE), PIECE);
		if (n > 0)
			to->len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	buf_add(to, "", 1); /* the last item may lack its NUL */
}

static int
compare_items(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void
append_item(const char ***list, size_t *count, const char *one)
{
	/* a power of two: the list is full, double it */
	if ((*count & (*count - 1)) == 0)
		*list = xrealloc(*list,
		    (*count > 0 ? *count * 2 : 1) * sizeof(**list));
	(*list)[(*count)++] = one;
}

void
omit_parse(struct omit *o)
{
	bool paths = false;
	char *end, *next;

	end = o->text.data + o->text.len;
	for (char *one = o->text.data; one < end; one = next) {
		size_t len = strlen(one);

		next = one + len + 1;
		if (len > 1 && one[len - 1] == '/')
			one[len - 1] = '\0';
		if (len == 0)
			paths = true;
		else if (paths)
			append_item(&o->paths, &o->path_count, one);
		else
			append_item(&o->patterns, &o->pattern_count, one);
	}
	if (o->path_count > 0)
		qsort(o->paths, o->path_count, sizeof(*o->paths),
		    compare_items);
}

void
omit_read(struct omit *o, int fd)
{
	read_all(&o->text, fd);
	omit_parse(o);
}

bool
omit_has(const struct omit *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	if (files_is_beside(name))
		return true;
	for (size_t i = 0; i < o->pattern_count; i++)
		if (glob_match(o->patterns[i], path))
			return true;
	return o->path_count > 0 &&
	    bsearch(&path, o->paths, o->path_count, sizeof(*o->paths),
		compare_items) != NULL;
}

void
omit_free(struct omit *o)
{
	buf_free(&o->text);
	mem_free_ptr(&o->patterns);
	mem_free_ptr(&o->paths);
}
