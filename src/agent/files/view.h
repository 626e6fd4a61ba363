/*
 * view.h: opens a file to send it to the client, and decides between text and
 * base64.
 *
 * Never blocks: a fifo without a writer, or with a silent writer, counts as at
 * its end.  view_is_text() checks the type and all bytes before the first byte
 * is sent, so that a file that is not UTF-8 arrives complete.
 */
#ifndef SANDLEASE_AGENT_FILES_VIEW_H
#define SANDLEASE_AGENT_FILES_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/files/blocks.h"
#include "common/err.h"

struct view {
	int fd;
	int64_t size;     /* as the file system says; 0: unknown */
	bool regular;     /* can be read again from the beginning */
	const char *type; /* MIME */
};

#define auto_view __attribute__((cleanup(view_close)))

int view_open(const char *path, struct view *v, struct err *e) MUST_CHECK;
void view_close(struct view *v);

/*
 * Makes sure that the file can be read again and has at most `max` bytes: a
 * file of unknown size is read into memory.  If it is larger, ERR_TOO_LARGE
 * "file_too_large", with the known part of the size in v->size.
 */
int view_settle(const char *path, int64_t max, struct view *v, struct err *e)
    MUST_CHECK;

/*
 * True when the whole file is UTF-8; view_is_text() also wants a type that is
 * text.  Both read the whole file and call `tick` after each block; if tick
 * returns false they stop and return false.
 */
bool view_is_utf8(const struct view *v, bool (*tick)(void *ctx), void *ctx);
bool view_is_text(const struct view *v, bool (*tick)(void *ctx), void *ctx);

/* For reading the file from the beginning, or a fifo from now on. */
struct blocks view_blocks(const struct view *v, bool text);

#endif
