/*
 * transfer.h: HTTP calls that run beside each other.
 *
 * A transfer is begun, waited for together with descriptors of the caller's,
 * and ended.  An answer is collected, or handed on as it comes; a refusal is
 * always collected, and becomes an error with the server's own words.
 */
#ifndef SANDLEASE_CLI_HTTP_TRANSFER_H
#define SANDLEASE_CLI_HTTP_TRANSFER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/config.h"
#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

struct client;   /* connections to one service, kept open between calls */
struct transfer; /* one call in progress */

/*
 * The next bytes of a body: how many, 0 at its end, TRANSFER_LATER when they
 * come later (see transfer_go_on()), -1 to give up.
 */
typedef ssize_t transfer_read_fn(void *ctx, char *to, size_t max);
enum { TRANSFER_LATER = -2 };
/* Takes bytes of an answer; false gives up. */
typedef bool transfer_sink_fn(void *ctx, const char *data, size_t len);
/* Told now and then how far it is; `total` is 0 while nobody knows. */
typedef void transfer_progress_fn(void *ctx, int64_t done, int64_t total);

/* All of it is borrowed until the transfer's end. */
struct request {
	const char *method; /* NULL: GET */
	const char *path;   /* below the service's URL */
	const char *url;    /* or any URL, without our key */
	const json_t *json; /* the body, as JSON */
	const char *bytes;  /* or as it is */
	size_t len;
	transfer_read_fn *read; /* or from here; read_size -1: not known */
	int64_t read_size;
	const char *header; /* one more, or NULL */
	transfer_sink_fn *sink;
	void *ctx; /* of sink and read */
	transfer_progress_fn *progress;
	void *progress_ctx;
	int deadline_s; /* 0: the usual */
	bool endless;   /* no deadline: only silence ends it */
};

/* Takes the config over. */
struct client *client_new(struct config *config);
void client_free(struct client *c);
const char *client_url(const struct client *c);
const char *client_key(const struct client *c);
const char *client_profile(const struct client *c);

/* From now on calls only look: they wake no session, and do not wait long. */
void client_try(struct client *c);
bool client_tries(const struct client *c);

/*
 * From now on a signal (of interrupts_open(); -1: none) ends calls that only
 * ask, and makes the next ones fail.  A call that changes something is always
 * finished: what became of it must be known.
 */
void client_heed(struct client *c, int signals);
/* The signal that came; 0: none since client_heed(). */
int client_stopped(const struct client *c);
/* Waits for a transfer as client_run() does, and heeds signals if `asks`. */
void client_finish(struct client *c, struct transfer *t, bool asks);

struct transfer *transfer_begin(struct client *c, const struct request *r);
bool transfer_done(const struct transfer *t);
/* There is more of a body that was to come later, or its end. */
void transfer_go_on(struct transfer *t);
/* Of the answer, 0 before it has come. */
long transfer_status(const struct transfer *t);
/* A header of the answer, "" without it; lives as long as the transfer. */
const char *transfer_header(const struct transfer *t, const char *name);

/*
 * Moves all transfers on until one is done or has given something to its sink,
 * a descriptor is ready or the time is over (-1: never).
 */
void client_wait(struct client *c, struct pollfd *fds, size_t count, int ms);
/* The sooner of two such times. */
int client_sooner(int a_ms, int b_ms);

/*
 * How it ended.  e->code is "unreachable" when nothing was sent, "broken" when
 * that cannot be told, "redirected" when a call of ours was answered by neither
 * success nor refusal, "refused" with the server's code in e->field and its
 * context, unless that is long, in e->more.  *answer (may be NULL) gets what
 * was collected.
 */
int transfer_result(struct transfer *t, struct buf *answer, struct err *e)
    MUST_CHECK;
/* Ends it in any state; NULL is none. */
void transfer_free(struct transfer *t);

/* True for a refusal with that code of the server's. */
bool transfer_refused(const struct err *e, enum err_code code);

#endif
