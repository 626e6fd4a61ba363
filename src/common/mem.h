/*
 * mem.h: ownership by attribute, and allocation that cannot fail.
 *
 * An owned local is declared with an auto_ attribute and initialised there;
 * TAKE() hands it on.  When memory runs out the process aborts and a supervisor
 * starts another.  So a size that comes from outside must be bounded before.
 */
#ifndef SANDLEASE_COMMON_MEM_H
#define SANDLEASE_COMMON_MEM_H

#include <stddef.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define auto_free __attribute__((cleanup(mem_free_ptr)))
#define auto_fd __attribute__((cleanup(mem_close_fd)))

/* Moves a pointer out of its owner, which is left NULL. */
#define TAKE(p)                                                                \
	({                                                                     \
		__typeof__(p) taken_ = (p);                                    \
		(p) = NULL;                                                    \
		taken_;                                                        \
	})

/* The same for a file descriptor, which is left -1. */
int take_fd(int *fd);

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void mem_free_ptr(void *p);
void mem_close_fd(int *fd);

#endif
