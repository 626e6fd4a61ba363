/*
 * pump.h: carries script and output while a command runs.
 *
 * The same loop serves commands in a persistent shell and commands with a
 * process of their own.  pump_run() writes the script to the shell and passes
 * on output as it comes.  It ends when the shell reports the end or the process
 * ends, and does not wait until the last background child has closed the pipe.
 */
#ifndef SANDLEASE_AGENT_RUN_PUMP_H
#define SANDLEASE_AGENT_RUN_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pump_end {
	PUMP_TOLD,    /* the status callback said so */
	PUMP_EXITED,  /* the process has ended (not yet waited for), or
			 closed status_fd (status_must) */
	PUMP_TIMEOUT, /* the deadline came first */
	PUMP_WOKEN,   /* wake_fd is readable, or client_fd hung up */
};

/* which: 0 stdout, 1 stderr. */
typedef void pump_output_fn(void *ctx, int which, const char *data, size_t len);
/* Gets bytes from status_fd; true when they say that the command ended. */
typedef bool pump_status_fn(void *ctx, const char *data, size_t len);
/* Called when nothing has happened for *quiet_ms milliseconds. */
typedef void pump_quiet_fn(void *ctx);

struct pump {
	int out[2];       /* owned, non-blocking; -1 after end of file */
	bool opened[2];   /* a process has opened the other end */
	int status_fd;    /* borrowed; -1: none */
	bool status_must; /* a process that closes status_fd counts as ended */
	int pidfd;        /* borrowed */
	int script_fd;    /* borrowed, non-blocking; -1: none */
	int wake_fd;      /* borrowed; -1: none */
	int client_fd;    /* its hangup ends pump_run(); borrowed; 0: none */
	const char *script;
	size_t script_len;
	bool hold;           /* do not read output: the caller sends a result */
	int64_t deadline_ms; /* of clock_ms(); 0: none */
	const int *quiet_ms; /* the caller may change it; NULL: no callback */
	pump_output_fn *output;
	pump_status_fn *status;
	pump_quiet_fn *quiet;
	void *output_ctx, *status_ctx;
};

enum pump_end pump_run(struct pump *p);

/* Reads what the pipes hold at this moment, and no more. */
void pump_catch_up(struct pump *p);

/*
 * Reads all that is in the pipes, however slow the client is.  Ends after 10 ms
 * without output, or after 100 ms if a process goes on writing.
 */
void pump_drain(struct pump *p);

/*
 * Gives the pipes to drain_adopt(): it discards what background children still
 * write, so that they neither block nor die of SIGPIPE.
 */
void pump_close(struct pump *p);

#endif
