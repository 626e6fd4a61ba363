/*
 * pump.h: what flows while a command runs.
 *
 * One loop for a command in a persistent shell and for one of its own: feeds
 * the shell its script, passes output on as it comes, and ends when the
 * command's shell says so or its process does, not when the last background
 * child has let go of the pipe.
 */
#ifndef SANDLEASE_AGENT_RUN_PUMP_H
#define SANDLEASE_AGENT_RUN_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pump_end {
	PUMP_TOLD,    /* the status callback said so */
	PUMP_EXITED,  /* the process has ended (not yet waited for), or
			 closed what it must not */
	PUMP_TIMEOUT, /* the deadline came first */
	PUMP_WOKEN,   /* wake_fd says: no longer, or client_fd hung up */
};

/* which: 0 stdout, 1 stderr. */
typedef void pump_output_fn(void *ctx, int which, const char *data, size_t len);
/* Bytes from the shell; true when they say that it is over. */
typedef bool pump_status_fn(void *ctx, const char *data, size_t len);
/* It has been quiet for *quiet_ms milliseconds. */
typedef void pump_quiet_fn(void *ctx);

struct pump {
	int out[2];       /* owned, non-blocking; -1 once at its end */
	bool opened[2];   /* somebody has had the other end */
	int status_fd;    /* borrowed; -1: none */
	bool status_must; /* whoever closes its end is taken for dead */
	int pidfd;        /* borrowed */
	int script_fd;    /* borrowed, non-blocking; -1: none */
	int wake_fd;      /* borrowed; -1: none */
	int client_fd;    /* whose hangup ends it; borrowed; 0: none */
	const char *script;
	size_t script_len;
	bool hold;           /* output waits: the caller is within something */
	int64_t deadline_ms; /* of clock_ms(); 0: none */
	const int *quiet_ms; /* the caller's, who may change it; NULL: never */
	pump_output_fn *output;
	pump_status_fn *status;
	pump_quiet_fn *quiet;
	void *output_ctx, *status_ctx;
};

enum pump_end pump_run(struct pump *p);

/* Takes what the pipes hold at this moment, and no more. */
void pump_catch_up(struct pump *p);

/*
 * Takes what is in the pipes, however slow its reader is; 10 ms of quiet end
 * it, and who goes on writing is heard for 100 ms.
 */
void pump_drain(struct pump *p);

/*
 * Lets go of the pipes: what a background child still writes is read and
 * thrown away, so that it neither blocks nor dies of it.
 */
void pump_close(struct pump *p);

#endif
