/*
 * feed.h: bytes for something that reads in a session.
 *
 * One POST is under way at a time, so that the order stays.  To a terminal it
 * has what was typed; what comes meanwhile goes with the next.  To a process
 * its body stays open and takes what comes, until nothing has come for a
 * moment or it is large.  What was sent is kept until it is answered: if the
 * reader was too slow it is sent again, from where it stopped.
 */
#ifndef SANDLEASE_CLI_HTTP_FEED_H
#define SANDLEASE_CLI_HTTP_FEED_H

#include "cli/http/transfer.h"
#include "common/str.h"

/* Start with client, path and close_path. */
struct feed {
	struct client *client;
	const char *path;       /* borrowed */
	const char *close_path; /* borrowed; of a process: where its end is
				   said; NULL: a terminal, whose end is not */
	bool ending;            /* nothing more will be added */
	bool over;              /* nobody reads any more, or the end was said */
	struct buf waiting;     /* for the next body */
	struct buf sent;        /* the body under way */
	size_t given;           /* of it, to the transfer */
	bool open;              /* the body takes what comes */
	bool says_end;          /* the end goes with the body */
	struct transfer *post;
	int64_t quiet_ms; /* of clock_ms(): an open body ends then */
	int64_t retry_ms; /* of clock_ms(); 0: now */
};

/* How much may be added. */
size_t feed_room(const struct feed *f);
void feed_add(struct feed *f, const char *data, size_t len);
void feed_end(struct feed *f);

/* True while something is to be sent. */
bool feed_busy(const struct feed *f);

/*
 * Takes what has been answered and sends what waits.  -1 when the bytes under
 * way may or may not have come: they are dropped, and the next may be sent.
 */
int feed_move(struct feed *f, struct err *e) MUST_CHECK;

/* When feed_move has to be called again at the latest; -1: when something is
 * done. */
int feed_wait_ms(const struct feed *f);

void feed_free(struct feed *f);

#endif
