/* mem.c: allocates memory; aborts the process when there is none. */
#include "common/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *
checked(void *p)
{
	static const char MSG[] = "<2>sandlease: out of memory\n";

	if (p == NULL) {
		(void)!write(STDERR_FILENO, MSG, sizeof(MSG) - 1);
		abort();
	}
	return p;
}

void *
xmalloc(size_t size)
{
	return checked(malloc(size > 0 ? size : 1));
}

void *
xcalloc(size_t count, size_t size)
{
	return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *
xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size > 0 ? size : 1));
}

char *
xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : s);
}

int
take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

void
mem_free_ptr(void *p)
{
	void **owner = p;

	free(*owner);
	*owner = NULL;
}

void
mem_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
