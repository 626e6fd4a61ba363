/*
 * attempt.h: puts attempts of executions into a session's wrapper, and asks how
 * far they are.
 */
#ifndef SANDLEASE_PROVIDER_LINK_ATTEMPT_H
#define SANDLEASE_PROVIDER_LINK_ATTEMPT_H

#include "common/err.h"
#include "domain/agent.h"
#include "domain/attempt.h"
#include "provider/provider.h"

/*
 * Puts the attempt `id` into the session's queue; one that is known stays as it
 * is.  `spec` is the work as the agent takes it (src/agent/attempt/attempt.h).
 * *runs: it has begun, and has not ended.
 */
int agent_attempt_put(const struct provider *p, const struct agent_target *t,
    const char *id, const char *spec, const struct run_group *g,
    int64_t deadline_ms, bool *runs, struct err *e) MUST_CHECK;

/*
 * Waits up to wait_ms for its end or, with an offset of 0 or more, for output
 * after that offset.
 */
int agent_attempt_ask(const struct provider *p, const struct agent_target *t,
    const char *id, int64_t offset, int64_t wait_ms, int64_t deadline_ms,
    struct agent_attempt *out, struct err *e) MUST_CHECK;

/* Has it end; does not wait for that.  Success, too, if it is not known. */
int agent_attempt_cancel(const struct provider *p, const struct agent_target *t,
    const char *id, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Memory that the agent can fill and not resize.  Returns the descriptor. */
int agent_attempt_memory(size_t size, struct err *e) MUST_CHECK;

/* A piece of what an ended attempt has left. */
struct agent_attempt_file {
	const char *id; /* of the attempt */
	const char
	    *file; /* log, times, list, or the number of one in the list */
	int64_t offset;
};

/*
 * Has the wrapper copy a piece into `memory`; *bytes is 0 at the end.  *offset is
 * that of the first byte: older output may be gone.
 */
int agent_attempt_read(const struct provider *p, const struct agent_target *t,
    const struct agent_attempt_file *f, int memory, int64_t deadline_ms,
    int64_t *bytes, int64_t *offset, struct err *e) MUST_CHECK;

/* Tells the wrapper that all is kept: it removes its own copies. */
int agent_attempt_kept(const struct provider *p, const struct agent_target *t,
    const char *id, int64_t deadline_ms, struct err *e) MUST_CHECK;

#endif
