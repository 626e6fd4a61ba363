/*
 * launch.h: everything between an intent to start and its outcome.
 *
 * Storage, sandbox, wrapper, files, ports, setup (setup.h), and the proof by a
 * command; each step is idempotent and carries incarnation and generation.
 */
#ifndef SANDLEASE_CONTROL_LAUNCH_H
#define SANDLEASE_CONTROL_LAUNCH_H

#include "control/control.h"
#include "control/fittings.h"
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
	struct fittings given; /* owned; what the wrapper was launched with */
	bool first;            /* the session has no storage yet */
	bool cold;             /* its workspace is made by this start */
	bool started;          /* a start of it was proved once */
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

/*
 * Acts, in order, until there is a wrapper with its files and ports.  The lock
 * is the caller's.
 */
int launch_bring_up(struct control *ctl, const struct rows *plan,
    struct launch *l, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Writes the files that were given with the session. */
int launch_furnish(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Has a command run; the last step. */
int launch_prove(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

/* Outcomes: the wrapper answered / the session's files are gone (`why`). */
int launch_verified(struct control *ctl, const struct launch *l, struct err *e)
    MUST_CHECK;
int launch_lost(struct control *ctl, const struct launch *l,
    const struct err *why, struct err *e) MUST_CHECK;

/*
 * Steps that no outcome tells of: a start that is not decided yet, or a
 * wrapper that was there.  Best effort.
 */
void launch_note_steps(struct control *ctl, const struct launch *l,
    const struct err *why);

#endif
