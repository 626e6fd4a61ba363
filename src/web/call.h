/*
 * call.h: one HTTP request and its answer, over FastCGI or plain CGI.
 *
 * Serves sandlease-api (one request at a time) and the agent's wrapper (one
 * per thread).  A handler reads what it needs, answers once, and reports
 * failure as a struct err; the dispatcher renders that.  This room is the
 * only one that includes fcgiapp.h (server.c).
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

/* How bytes come and go; see server.c. */
struct call_io {
	/*
	 * > 0 bytes read, 0 the complete end, -1 the client has gone, or with
	 * ECANCELED was turned away.
	 */
	ssize_t (*read)(void *ctx, char *to, size_t max);
	/* As read(), but what is there: waits for the first byte only.  NULL:
	 * read() will do. */
	ssize_t (*read_some)(void *ctx, char *to, size_t max);
	/* -1 when the client has gone. */
	int (*write)(void *ctx, const char *from, size_t len);
	int (*flush)(void *ctx);
	/* NULL when there is no such parameter. */
	const char *(*param)(void *ctx, const char *name);
	/* Whether it came more than once; NULL where it cannot. */
	bool (*repeated)(void *ctx, const char *name);
	/* The connection; NULL where there is none. */
	int (*fd)(void *ctx);
	/* Part of a file, not copied; -1 also when the file was shorter. */
	int (*send_file)(void *ctx, int fd, off_t from, int64_t len);
	/* Ends the answer before the request is released; NULL: cannot. */
	void (*end)(void *ctx);
	/* Makes an answer that has begun end as a failure. */
	void (*cut)(void *ctx);
};

/* What was written of an answer's body, whether or not anybody took it. */
struct call_copy {
	struct buf text;
	size_t max;
	bool over; /* there was more than max, and nothing is kept */
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
	} vars[CALL_VARS_MAX]; /* what the route's :names matched */
	size_t var_count;
	struct buf headers; /* extra headers of the answer */
	int64_t body_read;  /* bytes of the body taken by call_read */
	int status;         /* of the answer; 0 until it has begun */
	bool gone;          /* a write has failed: the client is not there */
	void *context;      /* the program's own */
	struct call_copy *copy; /* borrowed; NULL: none is made */
	/* members that call_reply() and the first sse_event() add; borrowed */
	const json_t *also;
};

/* A request parameter (HTTP_ACCEPT, SL_SESSION), "" when absent. */
const char *call_param(const struct call *c, const char *name);

/* Whether a header came twice: which one is meant is not ours to guess. */
bool call_repeated(const struct call *c, const char *name);

/* The connection, to see its peer hang up while one waits; -1: none. */
int call_fd(const struct call *c);

/* What `:name` of the matched route stands for, "" when there is none. */
const char *call_var(const struct call *c, const char *name);

/*
 * Query parameter `name`, percent-decoded.  False when it is absent; too long
 * or malformed is an error that names it.
 */
int call_query(const struct call *c, const char *name, char *out, size_t size,
    bool *present, struct err *e) MUST_CHECK;

/*
 * The whole body, at most `max` bytes.  ERR_TOO_LARGE beyond; a body that the
 * client cut off is ERR_INVALID "body_incomplete", never taken as complete.
 */
int call_body(struct call *c, size_t max, struct buf *out, struct err *e)
    MUST_CHECK;

/*
 * Reads and forgets at most `max` bytes that are left of the body; how many.
 * nginx ends a connection whose body nobody took, after it has told the client
 * that it may be used again.
 */
size_t call_skip_body(struct call *c, size_t max);

/*
 * The next bytes of the body: as many as there is room for, fewer only at its
 * end.  0 is the complete end; what the client cut off is ERR_INVALID
 * "body_incomplete".  For bodies of any size.
 */
ssize_t call_read(struct call *c, char *to, size_t max, struct err *e)
    MUST_CHECK;

/* The same, but what has come already: waits for the first byte only. */
ssize_t call_read_some(struct call *c, char *to, size_t max, struct err *e)
    MUST_CHECK;

/* The body as JSON; an empty body is an empty object. */
int call_json(struct call *c, size_t max, json_t **out, struct err *e)
    MUST_CHECK;

/* Adds a header to the answer; control characters in the value are dropped. */
void call_header(struct call *c, const char *name, const char *value);

/* The body with `also` in it, which is told then; the caller's. */
json_t *call_with_also(struct call *c, const json_t *body);

/* Answers at once and whole. */
void call_reply(struct call *c, int status, const json_t *body);
void call_reply_bytes(struct call *c, int status, const char *type,
    const char *data, size_t len);
void call_reply_empty(struct call *c, int status);

/* Answers piece by piece: begin, then write and flush until done or gone. */
void call_begin(struct call *c, int status, const char *type);
int call_write(struct call *c, const char *data, size_t len);
int call_flush(struct call *c);

/*
 * The answer is whole: the client gets it now, although the handler has more to
 * do.  Nothing may be written after it; parameters stay readable.
 */
void call_end(struct call *c);

/*
 * A part of a file.  -1 when the client has gone, or when the file turned out
 * to be shorter; the answer is cut then.
 */
int call_send_file(struct call *c, int fd, off_t from, int64_t len);

/*
 * An answer that has begun cannot be completed: the client is made to see
 * that, rather than to take what it has for the whole.
 */
void call_cut(struct call *c);

/* Frees what the call holds; server_finish does it. */
void call_release(struct call *c);

#endif
