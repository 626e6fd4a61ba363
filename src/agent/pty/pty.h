/*
 * pty.h: the terminals of a session.
 *
 * One for each shell session that wants one, shared by all of its clients: a
 * program, usually an interactive bash, that begins in the directory and with
 * the exported variables of that shell session and does not change it.  What
 * it writes is read by the loop's thread into a ring in memory, whether
 * somebody follows or not; who is slower than the program loses output, the
 * program never waits.  Bytes are counted from 0.
 *
 * Its end is remembered, with the scrollback, until another terminal takes its
 * name; of those that have ended, the newest few.
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
	PTY_BLOCK = 32 * 1024, /* what one look takes of it */
	PTY_LIVING_MAX = 32,
	PTY_ENDED_MAX = 8,
	PTY_COLS = 80,
	PTY_ROWS = 24,
	PTY_SIDE_MAX = 4096, /* of cols and rows; the least is 1 */
	PTY_SHELL_MAX = 256,
	PTY_INPUT_MS = 10000 /* for a program that does not read on */
};

struct pty; /* held by whoever found it, until pty_release() */

/* ---- by name */

struct pty_options {
	const char *id;    /* of the shell session */
	const char *shell; /* a program's name or absolute path; "": bash */
	const char *cwd;   /* "": the shell session's */
	int cols, rows;    /* 0: as it is, or the defaults */
};

/*
 * The living terminal of that name, resized if the wish says so (shell and cwd
 * are those it began with), or a new one; held.  ERR_INVALID names the field
 * that no terminal can be made of; ERR_LIMITED when there are too many.
 */
int pty_open(const struct pty_options *w, struct pty **out, bool *created,
    struct err *e) MUST_CHECK;

/* One that lives or has ended; ERR_NOT_FOUND "terminal_not_found". */
int pty_find(const char *id, struct pty **out, struct err *e) MUST_CHECK;
void pty_release(struct pty *t);

/* All of them, held, the oldest first; the array is the caller's. */
struct pty **pty_all(size_t *count);

/* How it is just now. */
struct pty_now {
	bool running;
	pid_t pid;
	int cols, rows;
	int64_t first;      /* the oldest byte that is left */
	int64_t total;      /* where the next byte will be */
	int exit_code;      /* 128 + signal, as a shell says */
	const char *signal; /* "SIGKILL"; "": it has ended by itself */
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
 * What begins at `offset`; false when there is nothing yet.  Where that has
 * been overwritten it begins later, in the middle of what is left, so that a
 * slow reader does not fall behind again at once: block.offset - offset bytes
 * are lost to it.  To follow: watch, then
 *
 *     do {
 *             now = pty_now(t);     // before reading: all it wrote is there
 *             while (pty_read(t, at, b)) { send; at = b->offset + b->len; }
 *     } while (now.running && poll(w.fd, your own descriptors) ...);
 */
bool pty_read(struct pty *t, int64_t offset, struct pty_block *b);

/*
 * Where a reader begins who has seen everything before `asked` (-1: nothing):
 * there, or at the oldest byte; also for an offset that this terminal does not
 * have yet, which is of an earlier one.
 */
int64_t pty_begin(struct pty *t, int64_t asked);

/*
 * Readable when there is more output, the size has changed, or it has ended.
 * Whoever watches counts as a client: the session is busy as long as it has
 * one (unless it is a probe's).
 */
int pty_watch(struct pty *t, struct child_watch *w, struct err *e) MUST_CHECK;
void pty_unwatch(struct pty *t, struct child_watch *w);

/* ---- input */

struct pty_input {
	const char *data;
	size_t len;
	int gone_fd;  /* readable hang-up: nobody waits any more; -1: none */
	bool patient; /* waits for a program that does not read on */
};

/*
 * Types it, whole and not mixed with what others type; returns when the
 * terminal has taken all of it.  *written says how much that was, also when the
 * program does not read on for PTY_INPUT_MS, or others type for so long:
 * ERR_BUSY "input_full".
 * ERR_CONFLICT "terminal_ended" when there is no program any more.
 */
int pty_input(struct pty *t, const struct pty_input *in, size_t *written,
    struct err *e) MUST_CHECK;

/* ---- the rest */

/* The program hears of it (SIGWINCH).  ERR_INVALID outside 1..PTY_SIDE_MAX. */
int pty_resize(struct pty *t, int cols, int rows, struct err *e) MUST_CHECK;

/*
 * Ends it, if it lives, with everything that was started in it, politely at
 * first, and forgets it; returns when that is done.  Who follows it is told.
 */
int pty_end(struct pty *t, struct err *e) MUST_CHECK;
/* The same for that of a shell session which is deleted; how many. */
size_t pty_end_of(const char *id);

/*
 * ^C for what runs, in the terminal of `shell` or in all (NULL), and was begun
 * at least older_ms ago; how many.
 */
size_t pty_interrupt_all(const char *shell, int64_t older_ms);

/* How many have something in the foreground that is not the shell itself. */
int64_t pty_running(void);

/* The session ends: interactive shells hear this, not SIGTERM. */
void pty_hang_up_all(void);

#endif
