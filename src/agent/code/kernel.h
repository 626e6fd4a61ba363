/*
 * kernel.h: the process behind a code context.
 *
 * An interpreter of the sandbox's that runs a program of ours
 * (kernel_python.py, kernel_node.js), which keeps the tenant's names from cell
 * to cell.  It reads that program from descriptor 0; 1 and 2 are pipes, so that
 * output of anything below it arrives as it is written.  On 3 it reads a line
 * for each cell
 *
 *	{"seq": 7, "code": "...", "env": {"NAME": "value" or null}}
 *
 * and says, in lines too (kernel_talk.h),
 *
 *	ready 0 {}	once, or `missing 0 {}`: there is no compiler
 *	result 7 {...}	any number of them: events, as they go out
 *			(answered by an empty line, so that what is
 *			printed after a result does not come before it)
 *	done 7 {}	once for each cell; or
 *	error 7 {...}	an event too
 *
 * An interruption is SIGINT to it and to what the cell has started; it keeps
 * its state.  If it does not yield it is killed.
 */
#ifndef SANDLEASE_AGENT_CODE_KERNEL_H
#define SANDLEASE_AGENT_CODE_KERNEL_H

#include <stdint.h>

#include "agent/base/drain.h"
#include "agent/base/spawn.h"
#include "agent/run/interrupt.h"
#include "agent/run/pump.h"
#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

enum kernel_language {
	KERNEL_PYTHON,
	KERNEL_JAVASCRIPT,
	KERNEL_TYPESCRIPT,
	KERNEL__MAX
};

/* By a name that callers use (py, js, ...); KERNEL__MAX: none of ours. */
enum kernel_language kernel_language(const char *name);
const char *kernel_name(enum kernel_language l);

/* Whether its interpreter is there. */
bool kernel_available(enum kernel_language l);

struct kernel {
	struct child child; /* pid -1: there is none */
	int channel;
	int out[2];
	struct drain *idle[2]; /* who reads them between cells */
	int64_t seq;           /* of its last cell */
};

struct kernel_place {
	enum kernel_language language;
	const char *cwd;
	const json_t *env; /* checked; NULL: none */
};

/*
 * Starts one where there is none.  "python_not_available" and such when the
 * interpreter is not there, "bad_cwd" as in spawn.h, "interpreter_not_ready"
 * when it takes for ever.
 */
int kernel_start(struct kernel *k, const struct kernel_place *at, struct err *e)
    MUST_CHECK;

/* True when there is a process, and it lives. */
bool kernel_lives(const struct kernel *k);

/* Of one that has ended, nothing is left; how it ended, as a shell says it. */
int kernel_bury(struct kernel *k);

/* Ends its process, if there is one, and all below it; politely. */
void kernel_end(struct kernel *k);

struct kernel_cell {
	const char *code;
	const json_t *env; /* of this cell only; checked; NULL: none */
	int64_t deadline_ms;
	struct interrupt_job *job;
	pump_output_fn *output;
	pump_quiet_fn *quiet;
	const int *quiet_ms; /* as in struct pump */
	/* a piece of a result; `last`: its end */
	void (*result)(void *ctx, const char *piece, size_t len, bool last);
	void *ctx;
};

enum kernel_end {
	KERNEL_DONE,
	KERNEL_FAILED,      /* the cell: `error` */
	KERNEL_TIMED_OUT,   /* the deadline */
	KERNEL_INTERRUPTED, /* somebody asked for it */
	KERNEL_DESTROYED,   /* its context is deleted */
	KERNEL_DIED,
};

struct kernel_outcome {
	enum kernel_end how;
	bool lost;        /* there is no process any more, nor its state */
	int exit_code;    /* ... and how it ended */
	struct buf error; /* the event of a cell's error; the caller's */
};

/* Runs a cell in one that lives. */
void kernel_run(struct kernel *k, const struct kernel_cell *cell,
    struct kernel_outcome *out);

#endif
