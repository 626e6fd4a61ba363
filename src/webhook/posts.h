/*
 * posts.h: sends several HTTP requests at once, to servers that tenants choose.
 *
 * Nothing a server does holds up another request: all are sent by one process
 * that waits for none of them alone, each has a time limit, and of an answer no
 * more is read than a bounded number of bytes, which are thrown away.
 * Redirects are not followed, no proxy is used, and we connect to no address
 * that address_may_connect() refuses.
 */
#ifndef SANDLEASE_WEBHOOK_POSTS_H
#define SANDLEASE_WEBHOOK_POSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/address.h"
#include "common/err.h"
#include "common/id.h"

struct posts;

/* A request.  Strings are copied; `headers` ends with NULL. */
struct post {
	const char *id; /* the caller's, less than ID_MAX bytes */
	int64_t attempt;
	const char *url;
	const char *body;
	const char *const *headers; /* "Name: value" */
	int64_t timeout_ms;
};

/* The end of a request. */
struct post_end {
	char id[ID_MAX];
	int64_t attempt;
	int status;        /* of HTTP; 0: there was none */
	const char *error; /* for the tenant; NULL: the server has answered */
};

/* `exceptions`: addresses that are not public and may be connected to. */
int posts_open(const struct address_list *exceptions, struct posts **out,
    struct err *e) MUST_CHECK;
/* Ends requests that are under way, without a word. */
void posts_close(struct posts *p);

int posts_begin(struct posts *p, const struct post *what, struct err *e)
    MUST_CHECK;

/* The number of requests that are under way or ended and not taken. */
size_t posts_count(const struct posts *p);

/*
 * Sends and receives until a request has ended, `fd` (-1: none) can be read, or
 * `ms` milliseconds are over.
 */
int posts_wait(struct posts *p, int fd, int64_t ms, struct err *e) MUST_CHECK;

/* Takes a request that has ended; false: there is none. */
bool posts_take_ended(struct posts *p, struct post_end *out);

/* Takes one that has not ended, and ends it. */
bool posts_take_open(struct posts *p, struct post_end *out);

#endif
