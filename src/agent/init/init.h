/*
 * init.h: runs init, process 1 of a sandbox.
 *
 * init makes cells, lists and ends them, and forwards messages to wrappers.  It
 * is one thread with one poll loop.  It never waits for a client that sends no
 * request or does not read its answer, nor for a wrapper that has stopped or is
 * hostile.
 */
#ifndef SANDLEASE_AGENT_INIT_INIT_H
#define SANDLEASE_AGENT_INIT_INIT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/init/cells.h"
#include "agent/init/seals.h"
#include "common/channel.h"
#include "common/err.h"
#include "common/log.h"

enum { INIT_CONNS_MAX = 64, INIT_SANDBOX_MAX = 256, INIT_AGENT_MAX = 256 };

struct init_options {
	int control_fd;
	char incarnation[ID_MAX];
	char sandbox[INIT_SANDBOX_MAX];
	enum log_level log_level;
	enum log_format log_format;
	int64_t log_kb;
	bool writable_root; /* for every cell; see cell/root.h */
	char **argv;        /* of main(), borrowed */
};

/* The event that a connection waits for. */
enum conn_wait {
	WAIT_NOTHING, /* the slot is free */
	WAIT_REQUEST,
	WAIT_SERVING, /* op launch: until the wrapper serves */
	WAIT_GONE     /* look, seal, kill: until the session has no wrapper */
};

struct init_conn {
	int fd;
	enum conn_wait wait;
	int64_t until; /* of clock_ms() */
	int64_t again; /* WAIT_GONE: next look; INT64_MAX: at the cell's end */
	char session[ID_MAX];
};

struct init {
	struct init_options opt;
	struct cells cells;
	struct init_conn conns[INIT_CONNS_MAX];
	int64_t watched_at; /* when the watchdog last ran */
	int64_t accept_at;  /* accept() again then: it had no descriptor left */
	pid_t measuring;    /* the child that measures disk usage, or 0 */
	bool network_unused; /* no cell has had init's network namespace */
	char agent[INIT_AGENT_MAX]; /* path of this program */
	struct seals seals;         /* last: large, and seldom used */
};

/* Serves until SIGTERM.  When init exits, the kernel ends the sandbox. */
int init_main(const struct init_options *opt);

/* ---- init/conn.c */

/* Closes the connection and frees its slot. */
void init_conn_free(struct init_conn *c);

/* Sends the reply, or the error, and frees the connection's slot. */
void init_answer(struct init_conn *c, json_t *reply);
void init_refuse(struct init_conn *c, const struct err *e);

/*
 * For a connection in WAIT_GONE, if it is time: lists the wrappers of its
 * session.  Answers when there are none, or when its waiting time is over.
 */
void init_look(struct init *in, struct init_conn *c);

/* Answer the connections that wait for the launch. */
void init_launched(struct init *in, const struct cell *cell);
void init_launch_failed(struct init *in, const char *session,
    const struct err *e);

/* Calls init_look() for the connections that wait for the session's end. */
void init_cell_ended(struct init *in, const char *session);

/* ---- init/ops.c */

/*
 * Carries out a message.  Either answers and frees the connection's slot, or
 * leaves the connection waiting.  The caller closes the `fds` that were not
 * taken out of the list.
 */
void init_op(struct init *in, struct init_conn *c, json_t *msg,
    struct channel_fds *fds);

#endif
