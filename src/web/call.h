/*
 * call.h: reads one HTTP request and writes its answer, over FastCGI or CGI.
 *
 * sandlease-api uses it (one request at a time), and so does the agent's
 * wrapper (one per thread).  A handler reads what it needs, answers once, and
 * reports failure as a struct err, which the dispatcher renders.  Of all rooms
 * only this one includes fcgiapp.h (server.c).
 */
#ifndef SANDLEASE_WEB_CALL_H
#define SANDLEASE_WEB_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/id.h"
#include "common/json.h"
#include "common/str.h"

enum {
	CALL_VARS_MAX = 4,
	CALL_VAR_MAX = 256,
	CALL_TRACE_MAX = 64,
	CALL_PATH_MAX = 4096
};

/* The transport of a call; server.c has those for FastCGI and CGI. */
struct call_io {
	/*
	 * > 0: bytes read; 0: complete end; -1: the client has gone, or, with
	 * ECANCELED, server_turn_away() was called.
	 */
	ssize_t (*read)(void *ctx, char *to, size_t max);
	/*
	 * The same, but waits for the first byte only and returns the bytes
	 * that are there.  NULL: read() is used.
	 */
	ssize_t (*read_some)(void *ctx, char *to, size_t max);
	/* -1 when the client has gone. */
	int (*write)(void *ctx, const char *from, size_t len);
	int (*flush)(void *ctx);
	/* NULL when there is no such parameter. */
	const char *(*param)(void *ctx, const char *name);
	/* True if the parameter came more than once; NULL: it never does. */
	bool (*repeated)(void *ctx, const char *name);
	/* The connection's descriptor; NULL: there is none. */
	int (*fd)(void *ctx);
	/* Sends part of a file uncopied; -1 also if the file is shorter. */
	int (*send_file)(void *ctx, int fd, off_t from, int64_t len);
	/* Ends the answer before the request is released; NULL: cannot. */
	void (*end)(void *ctx);
	/* Makes an answer that has begun end as a failure. */
	void (*cut)(void *ctx);
};

/*
 * A copy of the answer's body.  It also has the bytes that could not be sent
 * because the client had gone.
 */
struct call_copy {
	struct buf text;
	size_t max;
	bool over; /* the body was longer than max: `text` is empty */
};

struct call {
	const struct call_io *io;
	void *io_ctx;
	const char *method; /* borrowed from the request */
	const char *path;   /* nginx's normalised path, never REQUEST_URI */
	char request_id[ID_MAX];
	char trace_id[CALL_TRACE_MAX];
	struct {
		char name[32];
		char value[CALL_VAR_MAX];
	} vars[CALL_VARS_MAX]; /* segments that the route's :names matched */
	size_t var_count;
	struct buf headers;     /* extra headers of the answer */
	int64_t body_read;      /* bytes of the body taken by call_read */
	int status;             /* of the answer; 0 until it has begun */
	bool gone;              /* a write has failed: the client has gone */
	void *context;          /* for the program that serves the call */
	struct call_copy *copy; /* borrowed; NULL: no copy is made */
	/* members that call_reply() or the first sse_event() adds; borrowed */
	const json_t *also;
};

/* A request parameter (HTTP_ACCEPT, SL_SESSION), "" when absent. */
const char *call_param(const struct call *c, const char *name);

/* True if a header came more than once: we must not guess which one counts. */
bool call_repeated(const struct call *c, const char *name);

/* The connection, so that a handler that waits can see a hang-up; -1: none. */
int call_fd(const struct call *c);

/* The segment that `:name` of the route matched, "" when there is none. */
const char *call_var(const struct call *c, const char *name);

/*
 * Reads query parameter `name`, percent-decoded.  *present is false, and `out`
 * is "", when it is absent.  A value that is too long or malformed is an error.
 */
int call_query(const struct call *c, const char *name, char *out, size_t size,
    bool *present, struct err *e) MUST_CHECK;

/* Reads a number of the query; without one *out keeps its value. */
int call_query_int(const struct call *c, const char *name, int64_t min,
    int64_t max, int64_t *out, struct err *e) MUST_CHECK;

/*
 * The same of a parameter that must be one of `words`, which end with NULL.  The
 * error of any other value has them.  `out` is "" when it is absent or empty.
 */
int call_query_word(const struct call *c, const char *name,
    const char *const words[], char *out, size_t size, struct err *e)
    MUST_CHECK;

/*
 * Reads the whole body.  More than `max` bytes are ERR_TOO_LARGE.  A body that
 * the client cut off is ERR_INVALID "body_incomplete", never a shorter body.
 */
int call_body(struct call *c, size_t max, struct buf *out, struct err *e)
    MUST_CHECK;

/*
 * Reads and discards at most `max` further bytes of the body; returns how many.
 * Without this nginx closes the connection although it has told the client that
 * it may be reused.
 */
size_t call_skip_body(struct call *c, size_t max);

/*
 * Reads the next `max` bytes of the body, fewer only at its end.  0 is the
 * complete end.  A body that the client cut off is ERR_INVALID
 * "body_incomplete".  For bodies of any size.
 */
ssize_t call_read(struct call *c, char *to, size_t max, struct err *e)
    MUST_CHECK;

/* The same, but waits for the first byte only and returns what is there. */
ssize_t call_read_some(struct call *c, char *to, size_t max, struct err *e)
    MUST_CHECK;

/* Reads the body as JSON; an empty body is an empty object. */
int call_json(struct call *c, size_t max, json_t **out, struct err *e)
    MUST_CHECK;

/* Adds a header to the answer; control characters in the value are dropped. */
void call_header(struct call *c, const char *name, const char *value);

/*
 * Returns `body`, with the members of c->also added.  Clears c->also, because
 * they are sent once.  The caller owns the reference.
 */
json_t *call_with_also(struct call *c, const json_t *body);

/* Send a whole answer. */
void call_reply(struct call *c, int status, const json_t *body);
void call_reply_bytes(struct call *c, int status, const char *type,
    const char *data, size_t len);
void call_reply_empty(struct call *c, int status);

/* Send an answer in pieces: begin, then write and flush until done or gone. */
void call_begin(struct call *c, int status, const char *type);
int call_write(struct call *c, const char *data, size_t len);
int call_flush(struct call *c);

/*
 * Completes the answer, so that the client gets it although the handler has
 * more to do.  Nothing may be written after it; parameters stay readable.
 */
void call_end(struct call *c);

/*
 * Sends a part of a file.  -1 when the client has gone or the file is shorter;
 * the answer is then cut.
 */
int call_send_file(struct call *c, int fd, off_t from, int64_t len);

/*
 * Ends an answer that has begun and cannot be completed, so that the client
 * sees a failure.  Otherwise it would take the first part for the whole.
 */
void call_cut(struct call *c);

/* Frees the memory of the call; server_finish() calls it. */
void call_release(struct call *c);

#endif
