/*
 * feed.h: bytes for something that reads in a session.
 *
 * One POST is under way at a time, so that the order stays; what comes
 * meanwhile goes with the next.  What was refused because the reader is slow
 * is sent again, from where it stopped.
 */
#ifndef SANDLEASE_CLI_FEED_H
#define SANDLEASE_CLI_FEED_H

#include "cli/transfer.h"
#include "common/str.h"

enum { FEED_ROOM = 64 * 1024 };

/* Start with client, path and json. */
struct feed {
	struct client *client;
	const char *path; /* borrowed */
	bool json;        /* base64 in JSON, and the end is said */
	bool ending;      /* nothing more will be added */
	bool over;        /* nobody reads any more, or the end was said */
	struct buf waiting, sent;
	struct transfer *post;
	json_t *body;
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
