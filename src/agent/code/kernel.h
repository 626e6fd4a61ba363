/*
 * kernel.h: starts, talks to and ends the process behind a code context.
 *
 * A kernel is an interpreter of the sandbox that runs a program of ours
 * (kernel_python.py, kernel_node.js).  The program keeps the tenant's variables
 * from cell to cell.  The interpreter reads the program from descriptor 0.
 * Descriptors 1 and 2 are pipes, so that output of the kernel and of its child
 * processes arrives as it is written.  On descriptor 3 the kernel reads a line
 * for each cell
 *
 *	{"seq": 7, "code": "...", "env": {"NAME": "value" or null}}
 *
 * and writes lines (kernel_talk.h):
 *
 *	ready 0 {}	once, or `missing 0 {}`: there is no compiler
 *	result 7 {...}	any number of them: events, sent on unchanged
 *			(the wrapper answers with an empty line, so that
 *			later output does not overtake the result)
 *	done 7 {}	once for each cell; or
 *	error 7 {...}	an event too
 *
 * To interrupt a cell, the wrapper sends SIGINT to the kernel and to the
 * processes that the cell has started; the kernel keeps its state.  A kernel
 * that does not end the cell is killed.
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

/* The language of a name that callers use (py, js); KERNEL__MAX: unknown. */
enum kernel_language kernel_language(const char *name);
const char *kernel_name(enum kernel_language l);

/* True when the language's interpreter and compiler are installed. */
bool kernel_available(enum kernel_language l);

struct kernel {
	struct child child;    /* pid -1: no process */
	int channel;           /* socket to the kernel's descriptor 3 */
	int out[2];            /* pipes from its stdout and stderr */
	struct drain *idle[2]; /* read and discard `out` between cells */
	int64_t seq;           /* of its last cell */
};

struct kernel_place {
	enum kernel_language language;
	const char *cwd;
	const json_t *env; /* checked; NULL: none */
};

/*
 * Starts a kernel; *k must have no process.  "python_not_available" or the like
 * when the interpreter is not installed, "bad_cwd" as in spawn.h,
 * "interpreter_not_ready" after a minute.
 */
int kernel_start(struct kernel *k, const struct kernel_place *at, struct err *e)
    MUST_CHECK;

/* True when the kernel has a process, and it has not ended. */
bool kernel_lives(const struct kernel *k);

/*
 * Waits for a kernel that has ended or was killed, and closes its descriptors.
 * Returns its status as a shell does (128 + signal).
 */
int kernel_bury(struct kernel *k);

/* Ends the kernel, if there is one, and its descendants; SIGTERM first. */
void kernel_end(struct kernel *k);

struct kernel_cell {
	const char *code;
	const json_t *env; /* for this cell only; checked; NULL: none */
	int64_t deadline_ms;
	struct interrupt_job *job;
	pump_output_fn *output;
	pump_quiet_fn *quiet;
	const int *quiet_ms; /* as in struct pump */
	/* callback for a piece of a result; `last`: the result ends with it */
	void (*result)(void *ctx, const char *piece, size_t len, bool last);
	void *ctx;
};

enum kernel_end {
	KERNEL_DONE,
	KERNEL_FAILED,      /* the cell's code failed: `error` */
	KERNEL_TIMED_OUT,   /* the deadline has passed */
	KERNEL_INTERRUPTED, /* a caller interrupted it, or its client left */
	KERNEL_DESTROYED,   /* its context was deleted */
	KERNEL_DIED,
};

struct kernel_outcome {
	enum kernel_end how;
	bool lost;        /* the kernel is gone, and its state with it */
	int exit_code;    /* of the kernel, if lost */
	struct buf error; /* the event of a cell's error; the caller frees it */
};

/* Runs a cell in a living kernel. */
void kernel_run(struct kernel *k, const struct kernel_cell *cell,
    struct kernel_outcome *out);

#endif
