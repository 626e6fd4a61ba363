/*
 * once.h: calls that are carried out once for one Idempotency-Key.
 *
 * The answer is kept with its key and its body.  A repeat gets the same answer,
 * and waits for it while the first one runs; another body is refused.  Answers
 * are kept for ten minutes, ONCE_MAX of them and so many bytes, in the wrapper:
 * they are gone when it is (a sleep, a crash), and the next call with that key
 * is carried out again.
 */
#ifndef SANDLEASE_AGENT_API_ONCE_H
#define SANDLEASE_AGENT_API_ONCE_H

#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"
#include "web/call.h"

enum { ONCE_MAX = 100, ONCE_KEY_MAX = 256 };

struct once; /* a call under way, until once_end() */

/* The call's Idempotency-Key, "" for none; an error when it is not one. */
int once_key(const struct call *c, const char **out, struct err *e) MUST_CHECK;

/*
 * True in *first: the call is to be carried out, and its answer is taken down;
 * *out is the caller's.  False: it was answered as the first one was.
 * `body` is what it asks for, as text that is equal for equal requests.
 * "idempotency_mismatch"; "busy" when too many wait; "call_left";
 * "answer_not_kept" when it was too large.
 */
int once_begin(struct call *c, const char *key, const char *body, bool *first,
    struct once **out, struct err *e) MUST_CHECK;

/* It is answered.  keep: the answer counts for repeats, too. */
void once_end(struct once *o, struct call *c, bool keep);

#endif
