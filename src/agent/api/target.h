/*
 * target.h: which file a call is about.
 *
 * The path as the caller wrote it goes into answers and into the context of
 * errors; where that is depends on the directory of the shell it names.
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

/* The member `field` of the body; the call's context says what it is about. */
int target_take(struct call *c, const json_t *body, const char *field,
    const char *operation, struct target *t, struct err *e) MUST_CHECK;

/*
 * The context of a "file_too_large" gets the numbers; any other error passes
 * untouched.  -1.
 */
int target_too_large(struct call *c, const struct target *t, int64_t max,
    int64_t actual, const struct err *e);

/* {success, path, timestamp} and the members of `more`, taken over (or NULL). */
void target_reply(struct call *c, const struct target *t, json_t *more);

#endif
