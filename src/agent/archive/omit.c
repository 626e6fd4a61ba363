/* omit.c: what a backup leaves out. */
#include "agent/archive/omit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "agent/files/glob.h"
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
	buf_add(to, "", 1); /* ends the last, should nobody have done it */
}

static int
compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void
add(const char ***list, size_t *count, const char *one)
{
	/* room is doubled: at every power of two it is used up */
	if ((*count & (*count - 1)) == 0)
		*list = xrealloc(*list,
		    (*count > 0 ? *count * 2 : 1) * sizeof(**list));
	(*list)[(*count)++] = one;
}

void
omit_read(struct omit *o, int fd)
{
	bool paths = false;
	char *end, *next;

	read_all(&o->text, fd);
	end = o->text.data + o->text.len;
	for (char *one = o->text.data; one < end; one = next) {
		size_t len = strlen(one);

		next = one + len + 1;
		if (len > 1 && one[len - 1] == '/')
			one[len - 1] = '\0';
		if (len == 0)
			paths = true;
		else if (paths)
			add(&o->paths, &o->path_count, one);
		else
			add(&o->patterns, &o->pattern_count, one);
	}
	if (o->path_count > 0)
		qsort(o->paths, o->path_count, sizeof(*o->paths), compare);
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
		compare) != NULL;
}

void
omit_free(struct omit *o)
{
	buf_free(&o->text);
	mem_free_ptr(&o->patterns);
	mem_free_ptr(&o->paths);
}
