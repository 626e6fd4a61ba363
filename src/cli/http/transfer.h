/*
 * transfer.h: runs HTTP calls side by side.
 *
 * The caller begins a transfer, waits for it together with its own descriptors,
 * and frees it.  The body of an answer is collected, or goes to a sink as it
 * comes.  The body of a refusal is always collected, and becomes an error with
 * the server's words.
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
 * Copies the next bytes of a body to `to`.  Returns how many, 0 at the end of
 * the body, -1 to give up, or TRANSFER_LATER if there are none yet; then the
 * caller must call transfer_go_on() when there are.
 */
typedef ssize_t transfer_read_fn(void *ctx, char *to, size_t max);
enum { TRANSFER_LATER = -2 };
/* Takes bytes of an answer; false gives up. */
typedef bool transfer_sink_fn(void *ctx, const char *data, size_t len);
/* Called from time to time with the bytes so far; `total` 0: not known. */
typedef void transfer_progress_fn(void *ctx, int64_t done, int64_t total);

/* The caller keeps all that these point to until the transfer is freed. */
struct request {
	const char *method; /* NULL: GET */
	const char *path;   /* below the service's URL */
	const char *url;    /* instead of path: any URL, without the API key */
	const json_t *json; /* the body, as JSON */
	const char *bytes;  /* or the body, `len` bytes */
	size_t len;
	transfer_read_fn *read; /* or a function that reads the body */
	int64_t read_size;      /* its size; -1: not known */
	const char *header;     /* an additional header, or NULL */
	transfer_sink_fn *sink; /* gets the answer; NULL: collect it */
	void *ctx;              /* for sink and read */
	transfer_progress_fn *progress;
	void *progress_ctx;
	int deadline_s; /* 0: 75 seconds */
	bool endless;   /* no deadline: 60 seconds of silence end it */
};

/* Moves *config into the client, and clears it. */
struct client *client_new(struct config *config);
void client_free(struct client *c);
const char *client_url(const struct client *c);
const char *client_key(const struct client *c);
const char *client_profile(const struct client *c);

/* From now on calls wake no session, and time out after 3 seconds. */
void client_try(struct client *c);
bool client_tries(const struct client *c);

/*
 * From now on a signal on the descriptor `signals` ends GETs, and lets later
 * GETs fail.  `signals` is that of interrupts_open(), or -1 to ignore signals
 * again.  Calls that change something are always finished, because the caller
 * must know their result.
 */
void client_heed(struct client *c, int signals);
/* The signal that came since client_heed(); 0: none. */
int client_stopped(const struct client *c);
/* Waits for the end of a transfer; a signal ends the wait if `asks`. */
void client_finish(struct client *c, struct transfer *t, bool asks);

struct transfer *transfer_begin(struct client *c, const struct request *r);
bool transfer_done(const struct transfer *t);
/* Continues after TRANSFER_LATER: the body has more bytes, or its end. */
void transfer_go_on(struct transfer *t);
/* The status of the answer; 0: none has come yet. */
long transfer_status(const struct transfer *t);
/* A header of the answer, "" if it is missing; valid until transfer_free(). */
const char *transfer_header(const struct transfer *t, const char *name);

/*
 * Runs all transfers until one is done, a sink gets bytes, a descriptor is
 * ready, or `ms` are over (-1: never).
 */
void client_wait(struct client *c, struct pollfd *fds, size_t count, int ms);
/* The shorter of two such times; -1 is the longest. */
int client_sooner(int a_ms, int b_ms);

/*
 * 0 if the transfer succeeded; *answer (may be NULL) gets the collected body.
 * Otherwise e->code is
 *   "unreachable"  if nothing was sent,
 *   "broken"       if the request may have been sent,
 *   "redirected"   if the service answered neither success nor refusal,
 *   "refused"      if it answered 400 or more; e->field is the server's code,
 *                  and e->more its context unless that is too long.
 */
int transfer_result(struct transfer *t, struct buf *answer, struct err *e)
    MUST_CHECK;
/* Frees a transfer, also one that still runs; does nothing for NULL. */
void transfer_free(struct transfer *t);

/* True if e is a refusal with this code of the server. */
bool transfer_refused(const struct err *e, enum err_code code);

#endif
