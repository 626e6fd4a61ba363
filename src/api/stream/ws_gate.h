/*
 * ws_gate.h: takes requests for ports out of a WebSocket of /ws.  Pure.
 *
 * A WebSocket carries requests of the data plane to the wrapper.  The wrapper
 * runs beside its tenant's code, and must neither expose ports nor see a
 * credential.  So the gate removes requests for ports (api/expose-port,
 * api/exposed-ports) from the client's messages before they reach the sandbox.
 * A worker serves them with the client's own credential, and checks each one as
 * over HTTP.  The gate inserts the answers between the wrapper's messages.  All
 * other bytes pass unchanged.
 *
 * nginx passes values for the gate in headers named X-Sandlease-*; the wrapper
 * does not get them.
 */
#ifndef SANDLEASE_API_STREAM_WS_GATE_H
#define SANDLEASE_API_STREAM_WS_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/stream/ws_frames.h"
#include "common/json.h"
#include "common/str.h"

struct ws_gate {
	struct buf head; /* of the client's request; NUL terminated */
	struct buf
	    reply_head; /* of the wrapper's answer, until it is complete */
	bool replied;   /* reply_head was complete */
	bool opaque;    /* ... but no upgrade: pass all bytes unread */
	struct ws_frames up, down;
	bool looking;    /* the client's message may be for a worker */
	struct buf held; /* frames of that message, unchanged */
	struct buf text; /* content of that message */
	struct buf rest; /* the client's bytes after a request for a worker */
	struct buf answers; /* frames that wait for the end of a message */
	json_t *asked;      /* the request that a worker serves; NULL: none */
};

/* Takes bytes of the request's head.  1: complete, 0: not yet, -1: too long. */
int ws_gate_take_head(struct ws_gate *g, const char **data, size_t *len);

/* Copies the header X-Sandlease-<name>; "" if it is absent or too long. */
void ws_gate_header(const struct ws_gate *g, const char *name, char *out,
    size_t size);

/* Appends the head for the wrapper: without the headers X-Sandlease-*. */
void ws_gate_pass_head(const struct ws_gate *g, struct buf *out);

/*
 * Takes bytes of the client and appends the wrapper's bytes to `out`.  True:
 * g->asked is now a request for a worker, and the rest of *data is not taken
 * yet.
 */
bool ws_gate_from_client(struct ws_gate *g, const char **data, size_t *len,
    struct buf *out);

/* Takes bytes of the wrapper and appends the client's bytes to `out`. */
void ws_gate_from_wrapper(struct ws_gate *g, const char *data, size_t len,
    struct buf *out);

/* The FastCGI request for g->asked: its parameters, and its body. */
void ws_gate_params(const struct ws_gate *g, const char *session,
    struct buf *params);
char *ws_gate_body(const struct ws_gate *g);
bool ws_gate_only_reads(const struct ws_gate *g);

/*
 * Answers g->asked with the output of a worker, `cgi`; appends the answer to
 * `out` as soon as a message may be inserted.  NULL: no worker was reached, and
 * the answer tells the client to try again.  If the output is not complete, the
 * client is told that the request may have been carried out.
 */
void ws_gate_answer(struct ws_gate *g, const struct buf *cgi, struct buf *out);

void ws_gate_free(struct ws_gate *g);

#endif
