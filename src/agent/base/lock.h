/*
 * lock.h: lists the agent's locks in the order in which a thread may take them.
 *
 * A thread that holds a lock may take only locks that stand below it in LOCKS.
 * Two threads can then never wait for each other's locks.  A build with
 * --enable-lock-check (faults and sanitizers imply it) remembers which locks
 * each thread holds, and aborts the agent at the first lock taken out of order,
 * whether or not another thread waits.  Other builds only call pthread.
 *
 * A new lock gets a row: below every lock that may be held where it is taken,
 * and above every lock that is taken while it is held.
 *
 * src/web has one more lock (web/server.c), which cannot have a row because
 * src/web may not use this header.  That lock comes after all of these: no lock
 * is taken while it is held.
 */
#ifndef SANDLEASE_AGENT_BASE_LOCK_H
#define SANDLEASE_AGENT_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* ROW(rank, name, where it is, what it protects) */
/* clang-format off */
#define LOCKS(ROW)                                                            \
	/* held while a call is answered */                                   \
	ROW(LOCK_LARGE_WRITE, "large_write", "api/content.c",                 \
	    "memory: one large body is decoded at a time")                    \
	ROW(LOCK_INPUT, "input", "api/process_input.c",                       \
	    "which of a call's two threads answers it")                       \
	ROW(LOCK_WS_CONN, "ws_conn", "ws/conn.c",                             \
	    "a message on a WebSocket; held from the first part of a long "   \
	    "answer to the last, so by the route that writes it")             \
	ROW(LOCK_WS_MUX, "ws_mux", "ws/mux.c",                                \
	    "the requests that run on a WebSocket")                           \
	ROW(LOCK_ONCE, "once", "api/once.c",                                  \
	    "calls with an Idempotency-Key, and their answers")               \
	ROW(LOCK_WS_CALL, "ws_call", "ws/call.c",                             \
	    "the descriptor that tells a route that its client has left")     \
	/* tables */                                                          \
	ROW(LOCK_PROCESS, "process", "process/process.c",                     \
	    "background processes")                                           \
	ROW(LOCK_PTY, "pty", "pty/pty.c", "terminals")                        \
	ROW(LOCK_ATTEMPT, "attempt", "attempt/shared.c",                      \
	    "attempts of executions")                                         \
	ROW(LOCK_CONTEXT, "context", "code/context.c", "code contexts")       \
	ROW(LOCK_SHELL, "shell", "shell/shell.c", "persistent shells")        \
	ROW(LOCK_INTERRUPT, "interrupt", "run/interrupt.c",                   \
	    "commands that run, and whether they are to end")                 \
	/* no lock is taken while one of these is held */                     \
	ROW(LOCK_SHELL_EXPORTS, "shell_exports", "shell/internal.h",          \
	    "the variables that one shell has exported")                      \
	ROW(LOCK_ENVSET, "envset", "shell/envset.c",                          \
	    "the session's environment variables")                            \
	ROW(LOCK_ADOPT, "adopt", "wrapper/adopt.c",                           \
	    "which create has claimed the wrapper")                           \
	ROW(LOCK_SESSION_END, "session_end", "run/session_end.c",             \
	    "why the host ends the session")                                  \
	ROW(LOCK_SETUP, "setup", "api/setup.c", "the setup and its output")   \
	ROW(LOCK_WATCH, "watch", "watch/watch.c",                             \
	    "watches of files, and their inotify instance")                   \
	ROW(LOCK_LOOP, "loop", "base/loop.c",                                 \
	    "what the loop's thread is asked to run")                         \
	ROW(LOCK_VIEW, "view", "files/view.c",                                \
	    "memory: one file of unknown size is read at a time")             \
	ROW(LOCK_SECRETS, "secrets", "files/secret_list.c",                   \
	    "lists of secret files")                                          \
	ROW(LOCK_SWAP, "swap", "files/swap.c",                                \
	    "a directory whose entries are exchanged one by one")             \
	ROW(LOCK_WS_BODY, "ws_body", "ws/body.c",                             \
	    "how many bytes of bodies are in memory")                         \
	ROW(LOCK_WS_SERVED, "ws_served", "ws/ws.c", "the WebSockets")         \
	ROW(LOCK_WS_DOOR, "ws_door", "ws/door.c",                             \
	    "the process of sandlease-ws")                                    \
	ROW(LOCK_WS_PTY, "ws_pty", "ws/pty.c",                                \
	    "whether the thread that reads from a terminal's client runs")
/* clang-format on */

#define LOCK_RANK_(rank, name, where, protects) rank,
enum lock_rank { LOCKS(LOCK_RANK_) LOCK__MAX };
#undef LOCK_RANK_

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

#define LOCK_INIT(rank)                                                        \
	{                                                                      \
		PTHREAD_MUTEX_INITIALIZER, rank                                \
	}

/*
 * Called by lock_take(), lock_drop() and lock_wait() in a build that checks;
 * each aborts with the names of the locks when the thread breaks the rule.
 */
void lock_check_take(const struct lock *l);
void lock_check_drop(const struct lock *l);
void lock_check_held(const struct lock *l);

#ifdef WITH_LOCK_CHECK
#define LOCK_CHECK_(what, l) lock_check_##what(l)
#else
#define LOCK_CHECK_(what, l) ((void)0)
#endif

/* For a lock that is made at run time; the owner ends it by lock_destroy(). */
static inline void
lock_init(struct lock *l, enum lock_rank rank)
{
	pthread_mutex_init(&l->mutex, NULL);
	l->rank = rank;
}

static inline void
lock_destroy(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

static inline void
lock_take(struct lock *l)
{
	/* before locking: a thread in a deadlock could not report it */
	LOCK_CHECK_(take, l);
	pthread_mutex_lock(&l->mutex);
}

static inline void
lock_drop(struct lock *l)
{
	/* before unlocking: another thread may free l once it is unlocked */
	LOCK_CHECK_(drop, l);
	pthread_mutex_unlock(&l->mutex);
}

/* Waits for `c`.  Other threads can take the lock during the wait. */
static inline void
lock_wait(pthread_cond_t *c, struct lock *l)
{
	LOCK_CHECK_(held, l);
	pthread_cond_wait(c, &l->mutex);
}

/* The same; false when `deadline_ms` (of clock_ms()) has passed. */
static inline bool
lock_wait_until(pthread_cond_t *c, struct lock *l, int64_t deadline_ms)
{
	struct timespec at = { .tv_sec = deadline_ms / 1000,
		.tv_nsec = deadline_ms % 1000 * 1000000 };

	LOCK_CHECK_(held, l);
	return pthread_cond_clockwait(c, &l->mutex, CLOCK_MONOTONIC, &at) == 0;
}

#endif
