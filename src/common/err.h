/*
 * err.h: one error type for every room.
 *
 * An error is a value on the caller's stack: nothing to free, nothing to
 * forget.  The kind decides HTTP status, retry and log level, the code (code.h)
 * is for programs, the message is for people and always UTF-8.
 * Return it or handle it, never both; only main loops log.
 */
#ifndef SANDLEASE_COMMON_ERR_H
#define SANDLEASE_COMMON_ERR_H

#include <stdbool.h>

#include "common/code.h"

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define MUST_CHECK __attribute__((warn_unused_result))

enum err_kind {
	ERR_NONE,
	ERR_INVALID,         /* the caller's input is wrong */
	ERR_UNAUTHENTICATED, /* no key, or not a valid one */
	ERR_DENIED,          /* a valid key that may not do this */
	ERR_NOT_FOUND,       /* missing, or somebody else's: never told apart */
	ERR_METHOD,          /* the path exists, the method does not */
	ERR_CONFLICT, /* refused by the present state; asking again won't help */
	ERR_BUSY, /* refused by the present state, which is about to change */
	ERR_GONE, /* was there once */
	ERR_PRECONDITION, /* it is not as the caller thought */
	ERR_RANGE,        /* a part that is not there */
	ERR_TOO_LARGE,    /* more bytes than the limit says */
	ERR_LIMITED,      /* a quota */
	ERR_INTERNAL,     /* our fault */
	ERR_UNSUPPORTED,  /* this host, or this sandbox, has not got it */
	ERR_BAD_GATEWAY,  /* what we asked answered nonsense */
	ERR_UNAVAILABLE,  /* what we need is not there; it will be */
	ERR_NO_SPACE,     /* no room for it on this host */
	ERR__MAX
};

enum { ERR_FIELD_MAX = 64, ERR_MSG_MAX = 256, ERR_MORE_MAX = 512 };

struct err {
	enum err_kind kind;
	enum err_code code;
	char field[ERR_FIELD_MAX]; /* the input field that was wrong, or "" */
	char msg[ERR_MSG_MAX];
	/* what else a program may want to know: a JSON object, or "" */
	char more[ERR_MORE_MAX];
};

/* Fills in *e and returns -1, so that failing is one statement. */
int err_set(struct err *e, enum err_kind kind, enum err_code code,
    const char *fmt, ...) PRINTF_LIKE(4, 5);

/* err_set for bad input: 400 validation_failed that names the field. */
int err_field(struct err *e, const char *field, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/*
 * err_set for a failed system call: ERR_INTERNAL with errno's text behind; a
 * full disk is ERR_NO_SPACE "no_space_left".
 */
int err_errno(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Puts context before the message of an error that is passed on.  -1. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * What a tenant may read of an error, in an answer or in a row: its message, or
 * a sentence in its place if the message is for the operator only or names a
 * file of this host.  The log keeps the message.
 */
const char *err_told(const struct err *e);

/* Files below `path` are this host's own.  Told once, at the start. */
void err_host_path(const char *path);
bool err_names_host(const char *text);

/* What HTTP says of this kind: status, title, retryable, Retry-After. */
int err_status(const struct err *e);
const char *err_title(const struct err *e);
bool err_retryable(const struct err *e);
int err_retry_after_seconds(const struct err *e); /* 0 = say nothing */

#endif
