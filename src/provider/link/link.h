/*
 * link.h: talking to the agent's init over its control channel.
 *
 * One request, one reply, one connection, always a deadline.  The answers are
 * about one session of one sandbox; whatever else an agent may say is not
 * believed.  Codes of the agent ("stale_generation", "already_running") are
 * passed on as the error's code.
 */
#ifndef SANDLEASE_PROVIDER_LINK_LINK_H
#define SANDLEASE_PROVIDER_LINK_LINK_H

#include "common/err.h"
#include "common/json.h"
#include "domain/agent.h"
#include "domain/identity.h"
#include "provider/provider.h"

enum {
	AGENT_PORTS_MAX = 8,
	AGENT_PORT_DATA = 0, /* of agent_socket_path(): no port at all */
	AGENT_PORT_WS = -1,
	AGENT_WRAPPERS_MAX = 16,
	AGENT_VERSION_MAX = 32,
	AGENT_CELLS_MAX = 256, /* as many as init has room for */
	AGENT_FILE_MAX = 64
};

enum { AGENT_CAUSE_MAX = 32 };

struct agent_launch {
	int64_t intent_ms; /* of clock_ms(), before its generation was made */
	const json_t *env; /* borrowed; names and values */
	int64_t ports[AGENT_PORTS_MAX]; /* exposed already */
	size_t port_count;
	const struct identity *commits_as; /* borrowed; NULL: nobody */
	const char *name; /* borrowed; the session's, NULL: none */
	/* out, AGENT_VERSION_MAX bytes, one that is longer is ""; may be NULL */
	char *version;
};

/* What a look found of one session. */
struct agent_sight {
	struct {
		char instance[ID_MAX];
		int64_t generation;
	} wrapper[AGENT_WRAPPERS_MAX];
	size_t count;
};

/* What those hear whose commands a term ends. */
struct agent_end {
	const char *reason;          /* session_slept, session_deleted, ... */
	char cause[AGENT_CAUSE_MAX]; /* the lease's; may be "" */
	int64_t grace_ms; /* until then commands may end by themselves */
};

/* One of several sessions that are asked the same at once. */
struct agent_one {
	struct agent_target target;
	struct agent_end end; /* for term; reason NULL: none is told */
	bool answered;        /* else e says why not */
	struct err e;
	struct agent_sight sight;   /* of look, seal and kill */
	struct agent_status status; /* of status and usage */
};

/* A setup that is to be run, and what its asker has heard of it. */
struct agent_setup {
	const char *command; /* NULL: only whether it has begun */
	int64_t timeout_ms;
	int64_t offset; /* in and out */
	int64_t wait_ms;
	/* out */
	bool begun, done;
	int64_t exit_code, bytes, took_ms;
	char *output; /* owned: what came after offset, or the end when done */
};

enum agent_op {
	AGENT_LOOK,
	AGENT_SEAL,
	AGENT_TERM,
	AGENT_KILL,
	AGENT_STATUS,
	AGENT_USAGE, /* status, with the processor time used */
	AGENT_OP__MAX
};

/* A session up to one of its generations. */
struct agent_life {
	char session[ID_MAX];
	int64_t generation;
};

/* A socket's file name, and what it says. */
struct agent_file {
	char name[AGENT_FILE_MAX];
	struct agent_life life;
};

/* A cell that init has; and all of one sandbox. */
struct agent_cell {
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation;
};

struct agent_cells {
	char sandbox[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	bool answered; /* else e says why not */
	struct err e;
	struct agent_cell *cells; /* owned */
	size_t count;
};

/* The path nginx reaches: data plane, WebSockets or a relayed port. */
void agent_socket_path(const struct conf *conf, const char *session,
    int64_t generation, int64_t port, char *out, size_t size);

int agent_ping(const struct provider *p, const char *sandbox,
    const char *incarnation, char version[AGENT_VERSION_MAX],
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Makes the data, WebSocket and relay sockets and the cell's cgroup, launches, and
 * returns once the wrapper serves.  `s` gives the limits.
 */
int agent_launch(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, const struct agent_launch *l,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Runs a command in the session and compares what it printed. */
int agent_prove(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Lists the session's wrappers; waits up to wait_ms for there to be none. */
int agent_look(const struct provider *p, const struct agent_target *t,
    int wait_ms, int64_t deadline_ms, struct agent_sight *out, struct err *e)
    MUST_CHECK;

/* The look of a clean-up: seals the generation first, then lists. */
int agent_seal(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct agent_sight *out, struct err *e) MUST_CHECK;

/* SIGKILLs the cell and waits up to wait_ms for it to be reaped. */
int agent_kill(const struct provider *p, const struct agent_target *t,
    int wait_ms, int64_t deadline_ms, struct agent_sight *out, struct err *e)
    MUST_CHECK;

/*
 * Freezes the cell by writing `frozen` to `fd`, which init keeps to write
 * `thawed`: when it is asked to, and before it ends the cell.
 */
int agent_freeze(const struct provider *p, const struct agent_target *t,
    int64_t order, int fd, const char *frozen, const char *thawed,
    int64_t deadline_ms, struct err *e) MUST_CHECK;
int agent_thaw(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;

int agent_status(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct agent_status *out, struct err *e) MUST_CHECK;

/*
 * Stops the commands that were asked for at least older_ms ago, and returns
 * when they have ended; *count says how many.
 */
int agent_interrupt(const struct provider *p, const struct agent_target *t,
    int64_t older_ms, int64_t deadline_ms, int64_t *count, struct err *e)
    MUST_CHECK;

/* Only those in, or beside, the shell of that name; likewise. */
int agent_interrupt_shell(const struct provider *p,
    const struct agent_target *t, const char *shell, int64_t deadline_ms,
    int64_t *count, struct err *e) MUST_CHECK;

/*
 * The same question to all of `who` at once: whoever is slow is waited for
 * once, not once each.  `wait_ms` as with agent_look().
 */
void agent_ask_all(const struct provider *p, enum agent_op op, int wait_ms,
    int64_t deadline_ms, struct agent_one *const *who, size_t count);

/* Fills in the cells of every sandbox of `who`, asked at once. */
void agent_cells_all(const struct provider *p, int64_t deadline_ms,
    struct agent_cells *who, size_t count);

/* Changes the environment; if `env` is the whole, what it lacks goes. */
int agent_env(const struct provider *p, const struct agent_target *t,
    const json_t *env, bool whole, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/* Begins a session's setup, once, and hears what it says and how it ended. */
int agent_setup(const struct provider *p, const struct agent_target *t,
    struct agent_setup *s, int64_t deadline_ms, struct err *e) MUST_CHECK;

int agent_write(const struct provider *p, const struct agent_target *t,
    const char *path, int64_t mode, const char *data, size_t len,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Has all files of the session sent to `fd`, which stays the caller's, and
 * answers a socket on which agent_snapshot_export_end() hears how that went.
 */
int agent_snapshot_export(const struct provider *p,
    const struct agent_target *t, int fd, struct err *e) MUST_CHECK;
int agent_snapshot_export_end(int asked, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/*
 * Makes the relay's socket and hands it over / closes the relay and every
 * connection through it.  `order`: of the change that wants it; the relay
 * refuses one that is older than the last it was told ("stale_order").  0 is
 * older than nothing.
 */
int agent_expose(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;
int agent_unexpose(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Whether the relay of a port can be found; with `answers`, whether somebody
 * listens there, which the app behind it sees as a connection without a byte.
 */
bool agent_exposes(const struct provider *p, const struct agent_target *t,
    int64_t port, bool answers);

/* Closes the session's WebSockets; an agent that has none is done. */
int agent_ws_bounce(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Removes the socket files of generations that are over. */
void agent_unlink_sockets(const struct conf *conf, const char *session,
    int64_t up_to_generation);
/* The same for several sessions, with one look at the directory. */
void agent_unlink_sockets_of(const struct conf *conf,
    const struct agent_life *lives, size_t count);

/*
 * Every socket there is and whose it was, names that are not ours left out.
 * *out is malloc'ed; a list that fails is an error, not empty.
 */
int agent_sockets(const struct conf *conf, struct agent_file **out,
    size_t *count, struct err *e) MUST_CHECK;
void agent_unlink_socket(const struct conf *conf, const struct agent_file *f);

#endif
