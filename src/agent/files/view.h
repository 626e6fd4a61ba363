/*
 * view.h: a file that is opened to be answered with.
 *
 * Nothing here waits: a fifo without a writer, or whose writer is silent, is
 * at its end.  Whether a file goes out as text is decided before its first
 * byte is sent, by its type and by all of its bytes; so what is not UTF-8
 * arrives whole.
 */
#ifndef SANDLEASE_AGENT_FILES_VIEW_H
#define SANDLEASE_AGENT_FILES_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/files/blocks.h"
#include "common/err.h"

struct view {
	int fd;
	int64_t size;     /* what the file system says; 0: perhaps more */
	bool regular;     /* it can be read again from its beginning */
	const char *type; /* MIME */
};

#define auto_view __attribute__((cleanup(view_close)))

int view_open(const char *path, struct view *v, struct err *e) MUST_CHECK;
void view_close(struct view *v);

/*
 * Makes sure that it can be read again and has at most `max` bytes: what has
 * no size beforehand is read into memory.  ERR_TOO_LARGE "file_too_large"
 * with v->size as far as it is known.
 */
int view_settle(const char *path, int64_t max, struct view *v, struct err *e)
    MUST_CHECK;

/*
 * True when all of it is UTF-8, and for a text its type says so too.  Reads it
 * through; `tick` is called now and then and ends that by false, which means
 * no.
 */
bool view_is_utf8(const struct view *v, bool (*tick)(void *ctx), void *ctx);
bool view_is_text(const struct view *v, bool (*tick)(void *ctx), void *ctx);

/* Its bytes from the beginning, or from where a fifo is. */
struct blocks view_blocks(const struct view *v, bool text);

#endif
