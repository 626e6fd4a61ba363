/*
 * once.h: carries out a call only once for each Idempotency-Key.
 *
 * The answer is kept with its key and its body.  A retry gets the same answer,
 * and waits for it while the first call runs; a call with another body is
 * refused.  Answers are kept for ten minutes, at most ONCE_MAX of them and 16
 * MiB with their bodies.  They are in the wrapper's memory and lost when it
 * ends (a sleep, a crash): the next call with that key is then carried out
 * again.
 */
#ifndef SANDLEASE_AGENT_API_ONCE_H
#define SANDLEASE_AGENT_API_ONCE_H

#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"
#include "web/call.h"

enum { ONCE_MAX = 100, ONCE_KEY_MAX = 256 };

struct once; /* a call that is carried out, until once_end() */

/* Reads the call's Idempotency-Key, "" for none; an error if it is invalid. */
int once_key(const struct call *c, const char **out, struct err *e) MUST_CHECK;

/*
 * *first is true: the caller carries the call out and then calls once_end()
 * with *out; the answer is copied meanwhile.  *first is false: the call has
 * been answered like the first one.  `body` is the request as text, equal for
 * equal requests.  Errors: "idempotency_mismatch"; "busy" when too many calls
 * wait; "call_left" when the client goes; "answer_not_kept" when the answer was
 * too large; "too_many_at_once" when ONCE_MAX calls run.
 */
int once_begin(struct call *c, const char *key, const char *body, bool *first,
    struct once **out, struct err *e) MUST_CHECK;

/* The call is answered.  With `keep`, retries get the same answer. */
void once_end(struct once *o, struct call *c, bool keep);

#endif
