/*
 * feed.h: sends input to a process or a terminal in a session.
 *
 * Only one POST runs at a time, so that the bytes stay in order.  For a
 * terminal, the body has the bytes so far; later bytes go with the next POST.
 * For a process, the body stays open and takes later bytes, too.  It ends after
 * 200 ms without new bytes, or at 8 MiB.  The bytes of a body are kept until
 * its answer comes.  If the reader was too slow, the rest is sent again.
 */
#ifndef SANDLEASE_CLI_HTTP_FEED_H
#define SANDLEASE_CLI_HTTP_FEED_H

#include "cli/http/transfer.h"
#include "common/str.h"

/* Start with client, path and close_path. */
struct feed {
	struct client *client;
	const char *path;       /* borrowed */
	const char *close_path; /* borrowed; the path for the last body, which
				   closes a process's input; NULL: a terminal */
	bool ending;            /* the caller has called feed_end() */
	bool over;              /* the reader is gone, or has got the end */
	struct buf waiting;     /* bytes for the next body */
	struct buf sent;        /* bytes of the body that is being sent */
	size_t given;           /* how many of them the transfer has */
	bool open;              /* feed_add() may add bytes to `sent` */
	bool says_end;          /* this body goes to close_path */
	struct transfer *post;
	int64_t quiet_ms; /* when an open body ends, by clock_ms() */
	int64_t retry_ms; /* when to send again, by clock_ms(); 0: now */
};

/* How many bytes feed_add() may add now. */
size_t feed_room(const struct feed *f);
void feed_add(struct feed *f, const char *data, size_t len);
void feed_end(struct feed *f);

/* True until all bytes, and the end if there is one, have their answer. */
bool feed_busy(const struct feed *f);

/*
 * Handles an answer that has come, and sends the bytes that wait.  -1: the
 * bytes of the last body may have arrived or not.  They are dropped, and the
 * caller may go on with later ones.
 */
int feed_move(struct feed *f, struct err *e) MUST_CHECK;

/* In how many milliseconds to call feed_move() again at the latest; -1: not
 * before a transfer is done. */
int feed_wait_ms(const struct feed *f);

void feed_free(struct feed *f);

#endif
