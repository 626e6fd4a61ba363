/*
 * sides.h: one stream as data, and what both kinds of streams do with its
 * sides: nginx, the wrapper, and for a moment a worker.
 *
 * Which kind a stream is decides link.c; events.c and ws.c are the kinds.
 */
#ifndef SANDLEASE_API_STREAM_SIDES_H
#define SANDLEASE_API_STREAM_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/stream/answer.h"
#include "api/stream/ws_gate.h"
#include "common/id.h"
#include "common/poller.h"
#include "common/str.h"
#include "web/records.h"

enum {
	STREAM_TARGET_MAX = 108, /* sun_path */
	STREAM_SESSION_LEN = 20,
	STREAM_ORGS = 1024
};

enum stream_state {
	STREAM_HEAD,  /* whom it is for is not known yet */
	STREAM_OPEN,  /* between nginx and its wrapper */
	STREAM_OVER,  /* nginx takes what is left, and closes */
	STREAM_ENDED, /* both sides are closed; see struct streams */
};

struct stream_side {
	struct stream *of;
	int fd;         /* owned; -1: closed */
	uint32_t armed; /* what the poller tells us of; 0: nothing */
	struct buf out; /* what it has not taken yet */
	size_t sent;    /* of that */
};

struct stream {
	TAILQ_ENTRY(stream) link;
	enum stream_state state;
	struct stream_side nginx, wrapper;
	struct ws_gate *gate;      /* of a WebSocket; NULL: an event stream */
	struct stream_side worker; /* ... which carries out a request */
	int64_t answer_by_ms;      /* ... until then */
	struct records request, reply;
	struct buf params; /* of nginx's request; or a worker's answer */
	struct answer answer;
	char target[STREAM_TARGET_MAX];
	char request_id[ID_MAX];
	char key[ID_MAX]; /* whose id opened it; "": unknown */
	uint16_t id;
	uint16_t org; /* by hash: which of streams.of_org; 0: not counted */
	bool busy;    /* to be refused */
	bool deaf;    /* the wrapper takes nothing more */
	bool shut;    /* nginx has been told the end */
	int64_t spoke_ms;
};

TAILQ_HEAD(stream_list, stream);

/* Those of one process. */
struct streams {
	struct poller poller;
	const char *run_dir;
	struct stream_list all; /* who has said nothing for longest is first */
	struct stream_list
	    ended; /* an event of this round may still name one */
	size_t count;
	size_t org_max;             /* open streams of one org */
	size_t of_org[STREAM_ORGS]; /* two that share a count share the limit */
};

/*
 * Whether this names a wrapper's socket: unix:<run_dir>/s/<id>.<number>.sock.
 * nginx has looked already; it is looked at again because it is connected to.
 */
bool stream_target(const char *run_dir, const char *name, size_t len,
    char out[STREAM_TARGET_MAX]);

/* Connects to the socket of that name, not blocking; -1. */
int stream_connect(const char *path);

/* Counts it for that org.  False: the org has as many as it may. */
bool stream_count_org(struct streams *all, struct stream *s, const char *org,
    size_t len);

/* ---- one side */

/* Whether there is something that it has not taken yet. */
bool stream_pending(const struct stream_side *d);
void stream_forget_pending(struct stream_side *d);

/* Writes what it takes now.  -1: it takes nothing any more. */
int stream_flush(struct stream_side *d);

/*
 * Makes the poller tell of `want` (EPOLLIN and so on).  A side of which nothing
 * is wanted is taken out of the poller, which always tells of a hangup.
 */
int stream_arm(struct streams *all, struct stream_side *d, uint32_t want);
void stream_close_side(struct streams *all, struct stream_side *d);

/* ---- both sides */

/* Something was said to the client. */
void stream_spoke(struct streams *all, struct stream *s);

/*
 * Nothing more comes: nginx gets what is left, then the end.  Without the end
 * that FastCGI has (records_end) nginx takes the answer for cut.
 */
void stream_over(struct streams *all, struct stream *s);

/* Closes all sides at once; stream_bury() frees it. */
void stream_end(struct streams *all, struct stream *s);

#endif
