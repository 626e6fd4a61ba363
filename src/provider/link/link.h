/*
 * link.h: sends requests to the agent's init over its control channel.
 *
 * Each request has its own connection, one reply and a deadline.  A reply is
 * believed only as far as it concerns the session and sandbox of the request.
 * Error codes of the agent ("stale_generation", "already_running") become the
 * code of *e.
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
	AGENT_PORT_DATA = 0, /* for agent_socket_path(): the data plane */
	AGENT_PORT_WS = -1,  /* for agent_socket_path(): WebSockets */
	AGENT_WRAPPERS_MAX = 16,
	AGENT_VERSION_MAX = 32,
	AGENT_CELLS_MAX = 256, /* init has no room for more */
	AGENT_FILE_MAX = 64
};

enum { AGENT_CAUSE_MAX = 32 };

struct agent_launch {
	int64_t intent_ms; /* clock_ms() before the generation was allocated */
	const json_t *env; /* borrowed; names and values */
	int64_t ports[AGENT_PORTS_MAX]; /* ports that get a relay at once */
	size_t port_count;
	const struct identity *commits_as; /* borrowed; for git; may be NULL */
	bool network;                      /* may connect to something */
	const char *name; /* borrowed; the session's name; may be NULL */
	/* out: AGENT_VERSION_MAX bytes, "" for a longer version; may be NULL */
	char *version;
};

/* The wrappers that init has of one session. */
struct agent_wrappers {
	struct {
		char instance[ID_MAX];
		int64_t generation;
	} wrapper[AGENT_WRAPPERS_MAX];
	size_t count;
};

/* Why a session ends; clients get it with the end of their commands. */
struct agent_end {
	const char *reason;          /* session_slept, session_deleted, ... */
	char cause[AGENT_CAUSE_MAX]; /* the lease's cause; may be "" */
	int64_t grace_ms; /* time in which commands may end by themselves */
};

/* One session of agent_ask_all(), and its answer. */
struct agent_one {
	struct agent_target target;
	struct agent_end end; /* of AGENT_TERM; reason NULL: not sent */
	bool answered;        /* false: e says why not */
	struct err e;
	struct agent_wrappers found; /* answer to LOOK, SEAL and KILL */
	struct agent_status status;  /* answer to STATUS and USAGE */
};

/* A setup command to run, and how far it is. */
struct agent_setup {
	const char *command; /* NULL: only ask whether the setup has begun */
	int64_t timeout_ms;
	int64_t offset; /* in, out: the caller has the output before it */
	int64_t wait_ms;
	/* out */
	bool begun, done;
	int64_t exit_code, bytes, took_ms;
	char *output; /* owned: output after `offset`; its tail when done */
};

enum agent_op {
	AGENT_LOOK,
	AGENT_SEAL,
	AGENT_TERM,
	AGENT_KILL,
	AGENT_STATUS,
	AGENT_USAGE, /* status and the processor time used */
	AGENT_OP__MAX
};

/* A session's generations up to and including `generation`. */
struct agent_life {
	char session[ID_MAX];
	int64_t generation;
};

/* Sockets that init opens in a session's network. */
struct agent_network {
	bool base;           /* the filter's reports, too */
	const char *rules;   /* borrowed; netlink messages in base64 */
	const char *log;     /* borrowed; the same, for its reports */
	bool open;           /* without a filter: deliver every address */
	const json_t *ports; /* borrowed; ... and listen on these ports */
};

/* A socket's file name, and the session and generation in it. */
struct agent_file {
	char name[AGENT_FILE_MAX];
	struct agent_life life;
};

/* One cell of a sandbox. */
struct agent_cell {
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation;
};

/* One sandbox of agent_cells_all(), and its cells. */
struct agent_cells {
	char sandbox[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	bool answered; /* false: e says why not */
	struct err e;
	struct agent_cell *cells; /* owned */
	size_t count;
};

/*
 * The path of the socket to which nginx connects: the data plane's, that of
 * WebSockets, or a relayed port's.
 */
void agent_socket_path(const struct conf *conf, const char *session,
    int64_t generation, int64_t port, char *out, size_t size);

/* Asks init for its version; waits until init answers. */
int agent_ping(const struct provider *p, const char *sandbox,
    const char *incarnation, char version[AGENT_VERSION_MAX],
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Makes the data, WebSocket and relay sockets and the cell's cgroup, asks init
 * to launch the wrapper, and returns once the wrapper serves.  The limits are
 * those of `s`.
 */
int agent_launch(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, const struct agent_launch *l,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Gives a wrapper of the warm pool to the session that claimed it. */
struct agent_adoption {
	const char *claim; /* borrowed; made up by the create */
	bool prove;        /* also as agent_prove() */
};

/*
 * Has the wrapper take on environment, name, network and author of `l`.
 * ERR_CONFLICT "already_adopted": another claim came first.
 */
int agent_adopt(const struct provider *p, const struct agent_target *t,
    const struct agent_launch *l, const struct agent_adoption *a,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Gives a cell that runs the limits of `s` in place of those it was launched
 * with, which are higher or the same.  May be repeated.
 */
int agent_limit(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/* Runs a command in the session and checks its output: the proof. */
int agent_prove(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Lists the session's wrappers; waits up to wait_ms until there is none. */
int agent_look(const struct provider *p, const struct agent_target *t,
    int wait_ms, int64_t deadline_ms, struct agent_wrappers *out, struct err *e)
    MUST_CHECK;

/* Seals the generation, then lists the session's wrappers. */
int agent_seal(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct agent_wrappers *out, struct err *e) MUST_CHECK;

/*
 * Has init kill the cell by SIGKILL and waits up to wait_ms until the cell is
 * reaped.
 */
int agent_kill(const struct provider *p, const struct agent_target *t,
    int wait_ms, int64_t deadline_ms, struct agent_wrappers *out, struct err *e)
    MUST_CHECK;

/*
 * Asks init for sockets in the session's network and does not wait: init
 * answers on the connection, with a few sockets in each message.  One with
 * `base` stays open until the cell ends.  Returns the connection.
 */
int agent_network(const struct provider *p, const struct agent_target *t,
    const struct agent_network *n, struct err *e) MUST_CHECK;

/*
 * Has init freeze the cell by writing `frozen` to `fd`.  init keeps `fd` and
 * writes `thawed` to it on agent_thaw(), and before it ends the cell.
 */
int agent_freeze(const struct provider *p, const struct agent_target *t,
    int64_t order, int fd, const char *frozen, const char *thawed,
    int64_t deadline_ms, struct err *e) MUST_CHECK;
int agent_thaw(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Asks the wrapper what it is doing. */
int agent_status(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct agent_status *out, struct err *e) MUST_CHECK;

/*
 * The correlation keys that commands inside have asked for; *out is NULL if
 * there are none.  The caller owns it.
 */
int agent_keys(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, json_t **out, struct err *e) MUST_CHECK;

/*
 * Interrupts the commands that were requested at least older_ms ago, and
 * returns when they have ended; *count says how many there were.
 */
int agent_interrupt(const struct provider *p, const struct agent_target *t,
    int64_t older_ms, int64_t deadline_ms, int64_t *count, struct err *e)
    MUST_CHECK;

/* The same for the commands in, or beside, the shell of that name. */
int agent_interrupt_shell(const struct provider *p,
    const struct agent_target *t, const char *shell, int64_t deadline_ms,
    int64_t *count, struct err *e) MUST_CHECK;

/*
 * Sends the same request to all of `who`, then waits for the answers: slow
 * agents are waited for together, not one after the other.  `wait_ms` as with
 * agent_look().
 */
void agent_ask_all(const struct provider *p, enum agent_op op, int wait_ms,
    int64_t deadline_ms, struct agent_one *const *who, size_t count);

/* Asks every sandbox of `who` for its cells, all at once. */
void agent_cells_all(const struct provider *p, int64_t deadline_ms,
    struct agent_cells *who, size_t count);

/*
 * Sets the session's environment variables of `env`; with `whole`, also removes
 * those that `env` does not have.
 */
int agent_env(const struct provider *p, const struct agent_target *t,
    const json_t *env, bool whole, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/* Has the wrapper trust a certificate authority, in PEM. */
int agent_trust(const struct provider *p, const struct agent_target *t,
    const char *certificate, int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Starts a session's setup unless it has been started, and reads its output and
 * how it ended.
 */
int agent_setup(const struct provider *p, const struct agent_target *t,
    struct agent_setup *s, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Has the agent write `data` to the file `path` of the session. */
int agent_write(const struct provider *p, const struct agent_target *t,
    const char *path, int64_t mode, const char *data, size_t len,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Asks the agent to send all files of the session to `fd`, which stays the
 * caller's.  Returns a socket on which agent_snapshot_export_end() reads how
 * the export ended.
 */
int agent_snapshot_export(const struct provider *p,
    const struct agent_target *t, int fd, struct err *e) MUST_CHECK;
int agent_snapshot_export_end(int asked, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/*
 * agent_expose() makes the relay's socket and passes it to the wrapper;
 * agent_unexpose() closes the relay and every connection through it.  `order`
 * is the number of the change of the port's row; the wrapper refuses an order
 * older than the last one it got ("stale_order").  Order 0 is never refused.
 */
int agent_expose(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;
int agent_unexpose(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Whether a port's relay socket exists.  With `answers`, whether the relay
 * listens on it; that check connects, and the app behind the relay sees a
 * connection without a byte.
 */
bool agent_exposes(const struct provider *p, const struct agent_target *t,
    int64_t port, bool answers);

/*
 * Closes the session's WebSockets.  Success, too, with an agent that is too old
 * to have any.
 */
int agent_ws_bounce(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Removes the socket files of a session's generations up to that one. */
void agent_unlink_sockets(const struct conf *conf, const char *session,
    int64_t up_to_generation);
/* The same for several sessions; reads the directory only once. */
void agent_unlink_sockets_of(const struct conf *conf,
    const struct agent_life *lives, size_t count);

/*
 * Lists every socket file with its session and generation, without names of
 * another form.  *out is malloc'ed.  A failure is an error, never an empty
 * list.
 */
int agent_sockets(const struct conf *conf, struct agent_file **out,
    size_t *count, struct err *e) MUST_CHECK;
void agent_unlink_socket(const struct conf *conf, const struct agent_file *f);

#endif
