/*
 * link.h: one stream: nginx on one side, a wrapper on the other.
 *
 * It is an event stream, of which this is said, or a WebSocket of /ws, which
 * nginx speaks in HTTP and ws_gate.h passes on.
 *
 * Passes FastCGI on, record by record, never more than one read ahead: who
 * does not take what there is stops who sends it.  When the wrapper's side
 * ends before its time, a stream that has begun gets a last event and a proper
 * end; one that has not is left to nginx (see `unsent` in nginx/maps.conf.in).
 * When nginx's side ends, so does the wrapper's, at once.
 */
#ifndef SANDLEASE_API_STREAM_LINK_H
#define SANDLEASE_API_STREAM_LINK_H

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

enum { STREAM_TARGET_MAX = 108 /* sun_path */, STREAM_ORGS = 1024 };

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

/* Takes a connection of nginx's; `busy`: only to refuse it in its own words. */
void stream_open(struct streams *all, int fd, bool busy);

/* What the poller says; the side is what its data pointed at. */
void stream_event(struct streams *all, struct stream_side *side,
    uint32_t events);

/* Nothing has been said for a while: a comment, so that nobody gives up. */
void stream_beat(struct streams *all, struct stream *s);

/* Ends it now, with an event if it has begun. */
void stream_cut(struct streams *all, struct stream *s, enum err_code code,
    const char *message);

/* Frees those that have ended. */
void stream_bury(struct streams *all);

/* Ends all without a word. */
void stream_drop(struct streams *all);

#endif
