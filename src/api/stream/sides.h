/*
 * sides.h: connects, writes and closes the sides of a stream: nginx, the
 * wrapper, and during a request for a port a worker.
 *
 * There are two kinds of streams, events.c and ws.c; link.c decides which kind
 * a stream is.
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
	STREAM_HEAD,  /* the request's head is not complete */
	STREAM_OPEN,  /* connected to the wrapper */
	STREAM_OVER,  /* nginx reads the rest, and closes */
	STREAM_ENDED, /* all sides are closed; see struct streams */
};

struct stream_side {
	struct stream *of;
	int fd;         /* owned; -1: closed */
	uint32_t armed; /* events asked of the poller; 0: not in it */
	struct buf out; /* bytes for the peer */
	size_t sent;    /* bytes of `out` that are written */
};

struct stream {
	TAILQ_ENTRY(stream) link;
	enum stream_state state;
	struct stream_side nginx, wrapper;
	struct ws_gate *gate;      /* of a WebSocket; NULL: an event stream */
	struct stream_side worker; /* ... that serves a request for a port */
	int64_t answer_by_ms;      /* ... the worker's deadline */
	struct records request, reply;
	struct buf params; /* of nginx's request; later a worker's answer */
	struct stream_answer answer;
	char target[STREAM_TARGET_MAX];
	char request_id[ID_MAX];
	char key[ID_MAX]; /* id of the client's key; "": unknown */
	uint16_t id;
	uint16_t org; /* index in streams.of_org; 0: not counted */
	bool busy;    /* refuse it: there are too many streams */
	bool deaf;    /* writing to the wrapper has failed */
	bool shut;    /* shutdown() of nginx's side is done */
	int64_t spoke_ms;
};

TAILQ_HEAD(stream_list, stream);

/* The streams of one process. */
struct streams {
	struct poller poller;
	const char *run_dir;
	struct stream_list all;   /* sorted: the longest silent is first */
	struct stream_list ended; /* events of this round may point to one */
	size_t count;
	size_t org_max;             /* open streams that one org may have */
	size_t of_org[STREAM_ORGS]; /* by hash; orgs that collide share one */
};

/*
 * Whether `name` is a wrapper's socket: unix:<run_dir>/s/<id>.<number>.sock; if
 * so, `out` is its path.  nginx has checked the name already; the pool checks
 * it again because it connects to it.
 */
bool stream_target(const char *run_dir, const char *name, size_t len,
    char out[STREAM_TARGET_MAX]);

/* Connects to a unix socket; the descriptor does not block.  -1: failed. */
int stream_connect(const char *path);

/* Counts the stream for `org`.  False: the org has too many streams. */
bool stream_count_org(struct streams *all, struct stream *s, const char *org,
    size_t len);

/* ---- one side */

/* Whether there are bytes that the peer has not taken yet. */
bool stream_pending(const struct stream_side *d);
void stream_forget_pending(struct stream_side *d);

/* Writes as much as the peer takes now.  -1: writing has failed for good. */
int stream_flush(struct stream_side *d);

/*
 * Asks the poller for the events `want` (EPOLLIN and so on).  With `want` 0 the
 * side is removed from the poller, which would report a hangup otherwise.
 */
int stream_arm(struct streams *all, struct stream_side *d, uint32_t want);
void stream_close_side(struct streams *all, struct stream_side *d);

/* ---- both sides */

/* Notes that bytes were sent to the client: restarts the stream's silence. */
void stream_spoke(struct streams *all, struct stream *s);

/*
 * Closes wrapper and worker; nginx gets the pending bytes, then end of file.
 * Without FastCGI's end record (records_end) nginx takes the answer for cut.
 */
void stream_over(struct streams *all, struct stream *s);

/* Closes all sides at once; stream_bury() frees the stream. */
void stream_end(struct streams *all, struct stream *s);

#endif
