/*
 * launch.h: carries out an intent to start.
 *
 * The steps are storage, sandbox, wrapper, files, ports, network, setup
 * (setup.h), and the proof by a command.  Each step is idempotent and carries incarnation and
 * generation.  start.h decides whether to launch; outcome.h records the end.
 */
#ifndef SANDLEASE_CONTROL_LAUNCH_H
#define SANDLEASE_CONTROL_LAUNCH_H

#include "control/control.h"
#include "control/launch_diff.h"
#include "control/steps.h"
#include "provider/link/link.h"

enum { LAUNCH_NAME_MAX = 513 }; /* 128 characters */

/* One start under way: the plan's columns, decoded. */
struct launch {
	struct sandbox_spec sandbox;
	struct sandbox_spec cell; /* the same with the session's own limits */
	struct agent_target target;
	struct agent_launch agent;
	json_t *env;                /* owned */
	json_t *files;              /* owned */
	struct identity who;        /* the key's user */
	char name[LAUNCH_NAME_MAX]; /* the session's; "": none */
	struct snapshot_ref from;   /* source of its files; id "": none */
	char *setup; /* owned; a command still to be run, or NULL */
	int64_t setup_seconds;
	int64_t setup_offset; /* bytes of its output on record */
	int64_t *more_ports;  /* owned; beyond AGENT_PORTS_MAX */
	size_t more_count;
	/* owned; the wrapper was launched with this */
	struct launch_given given;
	bool network; /* may connect to something */
	bool first;   /* the session has no storage yet */
	bool cold;    /* its workspace is made by this start */
	bool started; /* a start of it was proved once */
	/* the caller's deadline leaves the current step too little time */
	bool hurried;
	bool locked;           /* we hold its start lock until the outcome */
	char adoption[ID_MAX]; /* its create claimed a warm sandbox; "": no */
	bool proved;           /* with the adoption */
	char version[AGENT_VERSION_MAX];
	struct steps steps; /* so far */
};

/*
 * The time within which a healthy agent answers.  A shorter silence, because
 * the caller would not wait, proves nothing.
 */
enum { LAUNCH_FAIR_MS = 5000 };

#define auto_launch __attribute__((cleanup(launch_release)))

/* Decodes a start_plan row; sealed columns are opened. */
int launch_read(struct control *ctl, const struct rows *plan, struct launch *l,
    struct err *e) MUST_CHECK;
void launch_release(struct launch *l);

/*
 * Acts, in order, until the wrapper exists and has its files, ports and
 * network.  No other process is at the sandbox.
 */
int launch_bring_up(struct control *ctl, const struct rows *plan,
    struct launch *l, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Writes the files that were given with the session. */
int launch_write_files(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Has the wrapper's network served, if the session may have one. */
int launch_network(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

/*
 * Acts on a committed intent (a start_plan row) and records the outcome.  A
 * failure is recorded too (the session is failed and says why), unless
 * start_undecided() says that the next request or pass goes on with it.
 * `alone`: no other process can know of session or sandbox yet.
 */
int launch_act(struct control *ctl, const struct rows *plan, bool alone,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * The last steps, when the wrapper exists and has its files: setup, proof,
 * outcome.
 */
int launch_complete(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

/*
 * Releases the start lock that an intent has taken.  A failure is only logged:
 * then the connection is gone, and the lock with it.
 */
void launch_unlock(struct control *ctl, const char *session);

#endif
