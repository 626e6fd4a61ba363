/*
 * err.h: defines the error type that all rooms use.
 *
 * An error is a value on the caller's stack, so there is nothing to free.  The
 * kind decides HTTP status, retry and log level, the code (code.h) is for
 * programs, the message is for people and always UTF-8.
 * A function returns an error or handles it, never both; only main loops log.
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
	ERR_NOT_FOUND,       /* missing, or another org's: both look alike */
	ERR_METHOD,          /* the path exists, the method does not */
	ERR_CONFLICT, /* refused by the present state; a retry won't help */
	ERR_BUSY, /* refused by the present state, which is about to change */
	ERR_GONE, /* existed once, and was removed */
	ERR_PRECONDITION, /* a condition that the caller set does not hold */
	ERR_RANGE,        /* the requested range does not exist */
	ERR_TOO_LARGE,    /* more bytes than the limit */
	ERR_LIMITED,      /* a quota is used up */
	ERR_INTERNAL,     /* a bug, or a failure of this host */
	ERR_UNSUPPORTED,  /* this host or this sandbox cannot do it */
	ERR_BAD_GATEWAY,  /* another program sent an invalid answer */
	ERR_UNAVAILABLE,  /* temporary: a retry may help */
	ERR_NO_SPACE,     /* no disk space on this host */
	ERR__MAX
};

enum { ERR_FIELD_MAX = 64, ERR_MSG_MAX = 256, ERR_MORE_MAX = 512 };

struct err {
	enum err_kind kind;
	enum err_code code;
	char field[ERR_FIELD_MAX]; /* the input field that was wrong, or "" */
	char msg[ERR_MSG_MAX];
	/* more facts for programs: a JSON object as text, or "" */
	char more[ERR_MORE_MAX];
};

/* Fills in *e and returns -1, so that a caller can `return err_set(...)`. */
int err_set(struct err *e, enum err_kind kind, enum err_code code,
    const char *fmt, ...) PRINTF_LIKE(4, 5);

/* err_set() for bad input: 400 validation_failed that names the field. */
int err_field(struct err *e, const char *field, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Puts "field." before the name of the member that was wrong, and returns -1. */
int err_below(struct err *e, const char *field);

/*
 * err_set() for a failed system call: ERR_INTERNAL, with errno's text at the
 * end of the message.  A full disk is ERR_NO_SPACE "no_space_left".
 */
int err_errno(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Puts context before the message of an error and returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Returns the text that a tenant may read, in an answer or in a row.  This is
 * the message, or a general sentence if the message is for the operator only or
 * names a file of this host.  The log keeps the message.
 */
const char *err_told(const struct err *e);

/*
 * Adds `path` to the paths that err_told() hides from tenants.  Called when a
 * program starts.
 */
void err_host_path(const char *path);
/* True when `text` contains one of these paths. */
bool err_names_host(const char *text);

/* The properties of the error's kind in HTTP. */
int err_status(const struct err *e);
const char *err_title(const struct err *e);
bool err_retryable(const struct err *e);
int err_retry_after_seconds(const struct err *e); /* 0: send no header */

#endif
