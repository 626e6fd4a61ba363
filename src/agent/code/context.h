/*
 * context.h: the code contexts of a session.
 *
 * Each has a language, a directory, variables, and a kernel that keeps state
 * from cell to cell.  One cell at a time in each, contexts side by side.  A
 * kernel that has died is told once; the next cell gets a new one.  They end
 * with the wrapper.
 */
#ifndef SANDLEASE_AGENT_CODE_CONTEXT_H
#define SANDLEASE_AGENT_CODE_CONTEXT_H

#include "agent/code/kernel.h"
#include "common/err.h"
#include "common/json.h"

enum { CONTEXTS_MAX = 32, CONTEXT_ID_MAX = 37 }; /* with the NUL */

struct context; /* referred to by whoever has it, until context_release() */

/*
 * Makes one and starts its kernel.  ERR_LIMITED "too_many_contexts"; else as
 * kernel_start().
 */
int context_create(const struct kernel_place *at, struct context **out,
    struct err *e) MUST_CHECK;

/* The one of that id; "context_not_found". */
int context_find(const char *id, struct context **out, struct err *e)
    MUST_CHECK;

/* The one for callers that name none, made if need be. */
int context_default(enum kernel_language l, struct context **out, struct err *e)
    MUST_CHECK;

void context_release(struct context *x);

/* [{id, language, cwd, createdAt, running}] */
json_t *context_list(void);

/* Ends it, and a cell that runs in it; who waits for it is told. */
int context_delete(const char *id, struct err *e) MUST_CHECK;

const char *context_id(const struct context *x);
const char *context_cwd(const struct context *x);
const char *context_language(const struct context *x);

/* ---- running in it */

/*
 * Waits for its turn until `until_ms` of clock_ms(), or until `job` (may be
 * NULL) is interrupted.  False when that came first.  Then the context is the
 * caller's until context_leave().
 */
bool context_enter(struct context *x, struct interrupt_job *job,
    int64_t until_ms);
void context_leave(struct context *x);

/*
 * Runs a cell in a context that was entered; *count is its number.  An error
 * is one of a kernel that could not be started.
 */
int context_run(struct context *x, const struct kernel_cell *cell,
    struct kernel_outcome *out, int64_t *count, struct err *e) MUST_CHECK;

#endif
