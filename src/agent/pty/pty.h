/*
 * pty.h: opens, reads, writes and ends the terminals of a session.
 *
 * Each shell session can have one terminal, which all clients share.  Its
 * program, usually an interactive bash, begins in the directory and with the
 * exported variables of the shell session, and does not change that session.
 * The loop's thread reads the output into a ring in memory, whether a client
 * follows or not.  A client that is slower than the program loses output; the
 * program never waits.  Output bytes are numbered from 0.
 *
 * The table keeps an ended terminal, with its scrollback, until another one
 * takes its name.  It keeps the PTY_ENDED_MAX that ended last.
 */
#ifndef SANDLEASE_AGENT_PTY_PTY_H
#define SANDLEASE_AGENT_PTY_PTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/child/child.h"
#include "common/err.h"

enum {
	PTY_RING = 256 * 1024, /* the scrollback */
	PTY_BLOCK = 32 * 1024, /* the most that one pty_read() returns */
	PTY_LIVING_MAX = 32,
	PTY_ENDED_MAX = 8,
	PTY_COLS = 80,
	PTY_ROWS = 24,
	PTY_SIDE_MAX = 4096, /* of cols and rows; the least is 1 */
	PTY_SHELL_MAX = 256,
	PTY_INPUT_MS = 10000 /* wait for a program that does not read */
};

/* Reference-counted: the caller that gets one calls pty_release(). */
struct pty;

/* ---- by name */

struct pty_options {
	const char *id;    /* of the shell session */
	const char *shell; /* a program's name or absolute path; "": bash */
	const char *cwd;   /* "": the shell session's */
	int cols, rows;    /* 0: no change, or the defaults */
};

/*
 * Finds the running terminal of that name, or makes a new one; the caller gets
 * a reference.  On an error *out stays as it is.  A running terminal is resized
 * if the options ask for it; it keeps the shell and cwd that it began with.
 * ERR_INVALID names the bad field; ERR_LIMITED when too many run.
 */
int pty_open(const struct pty_options *w, struct pty **out, bool *created,
    struct err *e) MUST_CHECK;

/* A running or ended terminal; ERR_NOT_FOUND "terminal_not_found". */
int pty_find(const char *id, struct pty **out, struct err *e) MUST_CHECK;
void pty_release(struct pty *t);

/* Of an owned local: releases the terminal, if there is one. */
void pty_drop(struct pty **t);
#define auto_pty __attribute__((cleanup(pty_drop)))

/*
 * All terminals, the oldest first.  The caller frees the array and releases
 * each terminal.
 */
struct pty **pty_all(size_t *count);

/* A terminal's state at one moment. */
struct pty_now {
	bool running;
	pid_t pid;
	int cols, rows;
	int64_t first;      /* number of the oldest byte in the ring */
	int64_t total;      /* number of the next byte */
	int exit_code;      /* 128 + signal, as a shell says */
	const char *signal; /* "SIGKILL"; "": it runs, or has exited */
};

const char *pty_id(const struct pty *t);
const char *pty_shell(const struct pty *t);
struct pty_now pty_now(struct pty *t);

/* ---- output */

/* Too large for a small stack. */
struct pty_block {
	int64_t offset; /* of its first byte */
	size_t len;
	char data[PTY_BLOCK];
};

/*
 * Reads output from `offset` on; false when there is none yet.  If the byte at
 * `offset` has been overwritten, the block begins in the middle of the ring, so
 * that a slow reader does not fall behind again at once; b->offset - offset
 * bytes are lost then.  To follow a terminal, watch it, then
 *
 *     do {
 *             now = pty_now(t);     // first: after the end no output follows
 *             while (pty_read(t, at, b)) { send; at = b->offset + b->len; }
 *     } while (now.running && poll(w.fd, your own descriptors) ...);
 */
bool pty_read(struct pty *t, int64_t offset, struct pty_block *b);

/*
 * The offset at which a reader begins that has seen everything before `asked`
 * (-1: nothing).  The oldest byte if `asked` has been overwritten, or if this
 * terminal has not reached it: `asked` is then from an earlier terminal.
 */
int64_t pty_begin(struct pty *t, int64_t asked);

/*
 * w->fd is readable when there is more output, the size has changed, or the
 * terminal has ended.  A watcher counts as a client: the session is busy until
 * pty_unwatch(), except for a probe's watch.
 */
int pty_watch(struct pty *t, struct child_watch *w, struct err *e) MUST_CHECK;
void pty_unwatch(struct pty *t, struct child_watch *w);

/* ---- input */

struct pty_input {
	const char *data;
	size_t len;
	int gone_fd;  /* hangs up when the client has left; -1: none */
	bool patient; /* wait without limit for the program to read */
};

/*
 * Writes the input, not mixed with that of other callers; returns when the
 * terminal has taken all of it.  ERR_BUSY "input_full" when the program does
 * not read for PTY_INPUT_MS, or other callers write for that long.
 * ERR_CONFLICT "terminal_ended" when the program has ended.  *written is the
 * number of bytes taken, also after an error.
 */
int pty_input(struct pty *t, const struct pty_input *in, size_t *written,
    struct err *e) MUST_CHECK;

/* ---- the rest */

/* The program gets SIGWINCH.  ERR_INVALID outside 1..PTY_SIDE_MAX. */
int pty_resize(struct pty *t, int cols, int rows, struct err *e) MUST_CHECK;

/*
 * Ends the program, if it runs, and everything started in the terminal, SIGTERM
 * first.  Removes the terminal from the table and wakes its followers.  Returns
 * when all have ended.
 */
int pty_end(struct pty *t, struct err *e) MUST_CHECK;
/* Ends the terminal of a deleted shell session; 1 if one ran, else 0. */
size_t pty_end_of(const char *id);

/*
 * Sends ^C to the terminal of `shell`, or to all (NULL), except those that had
 * input or were opened less than older_ms ago.  Returns how many commands ran.
 */
size_t pty_interrupt_all(const char *shell, int64_t older_ms);

/* How many terminals have a foreground command besides their shell. */
int64_t pty_running(void);

/* Sends SIGHUP at the session's end: interactive shells ignore SIGTERM. */
void pty_hang_up_all(void);

#endif
