/*
 * init.h: PID 1 of a sandbox.
 *
 * One thread, one poll loop.  It makes cells, lists and ends them, and passes
 * on what is meant for a wrapper; it never waits for anybody: a control
 * connection that says nothing, an asker that does not read its answer, a
 * wrapper that has stopped or is hostile.
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
	bool writable_root; /* of every cell; see cell/root.h */
	char **argv;        /* borrowed from main */
};

/* What a connection waits for. */
enum wait {
	WAIT_NOTHING, /* the slot is free */
	WAIT_REQUEST,
	WAIT_SERVING, /* launch: until the wrapper serves */
	WAIT_GONE     /* look, kill: until nothing of the session is left */
};

struct conn {
	int fd;
	enum wait wait;
	int64_t until; /* of clock_ms() */
	int64_t again; /* WAIT_GONE: the next look; a cell's end is told */
	char session[ID_MAX];
};

struct init {
	struct init_options opt;
	struct cells cells;
	struct seals seals;
	struct conn conns[INIT_CONNS_MAX];
	int64_t watched_at; /* when the watchdog last looked */
	int64_t accept_at;  /* not before: there was no descriptor left */
	pid_t measuring;    /* the child that op usage waits for, or 0 */
	char agent[INIT_AGENT_MAX]; /* path of this program */
};

/* Serves until it is told to end, upon which the kernel ends the sandbox. */
int init_main(const struct init_options *opt);

/* ---- init/conn.c */

/* Hangs up and frees the slot. */
void init_conn_free(struct conn *c);

/* Answers, {"ok":true} or the error, and frees the slot. */
void init_answer(struct conn *c, json_t *reply);
void init_refuse(struct conn *c, const struct err *e);

/*
 * What is left of the session that the connection waits for, if it is time to
 * look: answers when that is nothing, or when it need not wait any longer.
 */
void init_look(struct init *in, struct conn *c);

/* Tells those who wait for a launch how it went. */
void init_launched(struct init *in, const struct cell *cell);
void init_launch_failed(struct init *in, const char *session,
    const struct err *e);

/* Looks again for those who wait until nothing of the session is left. */
void init_cell_ended(struct init *in, const char *session);

/* ---- init/ops.c */

/*
 * Does what a message asks.  Either answers and frees the connection's slot,
 * or leaves it waiting.  `fds` stay the caller's but for what is taken.
 */
void init_op(struct init *in, struct conn *c, json_t *msg,
    struct channel_fds *fds);

#endif
