/*
 * ws_gate.h: what passes on /ws, between nginx and a wrapper.  Pure.
 *
 * A WebSocket carries requests of the data plane to the wrapper, which is
 * beside its tenant's code and can neither open ports nor hold a credential.
 * Requests for ports (api/expose-port, api/exposed-ports) are therefore taken
 * out of what the client sends, before it reaches the sandbox, and asked of the
 * control plane with the client's own credential: each is checked as over HTTP.
 * Their answers are put between the wrapper's messages.  All else passes as it
 * is.
 *
 * nginx tells what stays on this side in headers named X-Sandlease-*.
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
	bool replied;   /* ... which it is */
	bool opaque;    /* ... and no WebSocket: not looked at */
	struct ws_frames up, down;
	bool looking;       /* the client's message may be for us */
	struct buf held;    /* its frames, as they came */
	struct buf text;    /* its content */
	struct buf rest;    /* what came behind a request that is carried out */
	struct buf answers; /* frames that wait for their place */
	json_t *asked;      /* the request that is carried out; NULL: none */
};

/* Takes bytes of the request's head.  1: complete, 0: not yet, -1: no head. */
int ws_gate_take_head(struct ws_gate *g, const char **data, size_t *len);

/* The value of a header X-Sandlease-<name>; "" when absent or too long. */
void ws_gate_header(const struct ws_gate *g, const char *name, char *out,
    size_t size);

/* The head without those headers, for the wrapper. */
void ws_gate_pass_head(const struct ws_gate *g, struct buf *out);

/*
 * Takes what the client sends and adds what the wrapper gets.  Returns true, with
 * the rest not taken, when g->asked has become a request for the control plane.
 */
bool ws_gate_from_client(struct ws_gate *g, const char **data, size_t *len,
    struct buf *out);

/* Takes what the wrapper sends and adds what the client gets. */
void ws_gate_from_wrapper(struct ws_gate *g, const char *data, size_t len,
    struct buf *out);

/* The FastCGI request for g->asked: its parameters, and its body. */
void ws_gate_params(const struct ws_gate *g, const char *session,
    struct buf *params);
char *ws_gate_body(const struct ws_gate *g);
bool ws_gate_only_reads(const struct ws_gate *g);

/*
 * Answers g->asked with what a worker wrote, to `out` as soon as a message may
 * stand there.  Without a worker (NULL) the request may be repeated; with half an
 * answer nobody knows whether it was carried out.
 */
void ws_gate_answer(struct ws_gate *g, const struct buf *cgi, struct buf *out);

void ws_gate_free(struct ws_gate *g);

#endif
