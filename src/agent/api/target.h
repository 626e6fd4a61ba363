/*
 * target.h: finds the file that a call names.
 *
 * Answers and the context of errors show the path as the client wrote it.  A
 * relative path begins at the current directory of the shell that the call
 * names.
 */
#ifndef SANDLEASE_AGENT_API_TARGET_H
#define SANDLEASE_AGENT_API_TARGET_H

#include "agent/files/files.h"
#include "common/err.h"
#include "common/json.h"
#include "web/call.h"

enum { TARGET_BODY_MAX = 64 * 1024 }; /* of a call without content */

struct target {
	const char *path;           /* borrowed from the body */
	const char *operation;      /* "file.read", ... */
	char where[FILES_PATH_MAX]; /* absolute */
};

/* Reads the path in member `field` and sets the context of errors. */
int target_take(struct call *c, const json_t *body, const char *field,
    const char *operation, struct target *t, struct err *e) MUST_CHECK;

/*
 * Puts both sizes into the context if the error is "file_too_large"; does
 * nothing for other errors.  Returns -1.
 */
int target_too_large(struct call *c, const struct target *t, int64_t max,
    int64_t actual, const struct err *e);

/*
 * Answers {success, path, timestamp} and the members of `more` (may be NULL),
 * which it takes over.
 */
void target_reply(struct call *c, const struct target *t, json_t *more);

#endif
