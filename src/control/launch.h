/*
 * launch.h: carries out an intent to start.
 *
 * Storage, sandbox, wrapper, files, ports, setup (setup.h), and the proof by a
 * command; each step is idempotent and carries incarnation and generation.
 * Whether to launch is decided by start.h, the end is recorded by outcome.h.
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
	struct agent_target target;
	struct agent_launch agent;
	json_t *env;                /* owned */
	json_t *files;              /* owned */
	struct identity who;        /* the key's user */
	char name[LAUNCH_NAME_MAX]; /* the session's; "": none */
	struct snapshot_ref from; /* what its files come from; id "": nothing */
	char *setup; /* owned; a command still to be run, or NULL */
	int64_t setup_seconds;
	int64_t setup_offset; /* of its output, that is written down */
	int64_t *more_ports;  /* owned; beyond AGENT_PORTS_MAX */
	size_t more_count;
	struct launch_given
	    given;    /* owned; what the wrapper was launched with */
	bool first;   /* the session has no storage yet */
	bool cold;    /* its workspace is made by this start */
	bool started; /* a start of it was proved once */
	bool hurried; /* the caller leaves the step at hand too little time */
	bool locked; /* its start lock is ours, until the outcome is recorded */
	char version[AGENT_VERSION_MAX];
	struct steps steps; /* so far */
};

/*
 * What an agent that is well is given to answer.  A silence that is shorter
 * because the caller would not wait proves nothing.
 */
enum { LAUNCH_FAIR_MS = 5000 };

#define auto_launch __attribute__((cleanup(launch_release)))

/* Decodes a start_plan row; sealed columns are opened. */
int launch_read(struct control *ctl, const struct rows *plan, struct launch *l,
    struct err *e) MUST_CHECK;
void launch_release(struct launch *l);

/* Writes the files that were given with the session. */
int launch_write_files(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Acts on a committed intent (a start_plan row) and records the outcome.  A
 * failure is recorded too (the session is failed and says why), unless
 * start_undecided() says that the next request or pass goes on with it.
 * `alone`: nobody else can know of session or sandbox yet.
 */
int launch_act(struct control *ctl, const struct rows *plan, bool alone,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* What is left when there is a wrapper with its files: setup, proof, outcome. */
int launch_complete(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

/*
 * Gives back the start lock that an intent has taken.  A failure is logged: then
 * the connection is gone, and the lock with it.
 */
void launch_unlock(struct control *ctl, const char *session);

#endif
