/*
 * context.h: keeps the code contexts of a session and runs code cells in them.
 *
 * A code cell (here short: cell) is one piece of code, as in a notebook.  A
 * context has a language, a directory, variables, and a kernel (kernel.h) that
 * keeps state from cell to cell.  A context runs one cell at a time; different
 * contexts run side by side.  The death of a kernel is reported once, and the
 * next cell gets a new kernel.  Contexts end with the wrapper.
 */
#ifndef SANDLEASE_AGENT_CODE_CONTEXT_H
#define SANDLEASE_AGENT_CODE_CONTEXT_H

#include "agent/code/kernel.h"
#include "common/err.h"
#include "common/json.h"

enum { CONTEXTS_MAX = 32, CONTEXT_ID_MAX = 37 }; /* with the NUL */

/* Has a reference count: each caller that gets one calls context_release(). */
struct context;

/*
 * Makes a context and starts its kernel.  ERR_LIMITED "too_many_contexts"; else
 * the errors of kernel_start().
 */
int context_create(const struct kernel_place *at, struct context **out,
    struct err *e) MUST_CHECK;

/* Finds the context with that id; "context_not_found". */
int context_find(const char *id, struct context **out, struct err *e)
    MUST_CHECK;

/* The language's context for callers that name none; made if there is none. */
int context_default(enum kernel_language l, struct context **out, struct err *e)
    MUST_CHECK;

void context_release(struct context *x);

/* [{id, language, cwd, createdAt, running}] */
json_t *context_list(void);

/* Deletes a context and kills its cell; cells that wait end as destroyed. */
int context_delete(const char *id, struct err *e) MUST_CHECK;

const char *context_id(const struct context *x);
const char *context_cwd(const struct context *x);
const char *context_language(const struct context *x);

/* ---- running cells */

/*
 * Waits until the context is free, and holds it for the caller until
 * context_leave().  False when `until_ms` of clock_ms() came first, or `job`
 * (may be NULL) was interrupted.
 */
bool context_enter(struct context *x, struct interrupt_job *job,
    int64_t until_ms);
void context_leave(struct context *x);

/*
 * Runs a cell in a context that the caller has entered; *count is the cell's
 * number.  Fails only if a kernel cannot be started.
 */
int context_run(struct context *x, const struct kernel_cell *cell,
    struct kernel_outcome *out, int64_t *count, struct err *e) MUST_CHECK;

#endif
