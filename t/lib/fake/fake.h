/*
 * fake.h: a provider and an agent in memory, for tests.
 *
 * PROVIDER_FAKE keeps the promises of provider.h with the real rules of
 * record.h and answers control messages from threads of this process; the
 * functions here make it fail, hang or lose things as a test says.  No program
 * is linked with it; a test opens it with provider_open_ops().
 */
#ifndef SANDLEASE_FAKE_FAKE_H
#define SANDLEASE_FAKE_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "provider/link/link.h"
#include "provider/provider.h"

extern const struct provider_ops PROVIDER_FAKE;

/*
 * The error code of FAKE_FAIL.  The local provider uses this code, too, and
 * control judges such an error by its kind alone.
 */
#define FAKE_CODE CODE_NO_STORAGE

enum fake_how {
	FAKE_WORK,   /* the operation succeeds */
	FAKE_FAIL,   /* nothing is done; an error */
	FAKE_HANG,   /* nothing is done; no answer before the deadline */
	FAKE_LOSE,   /* done, but the answer is an error */
	FAKE_FULL,   /* nothing is done: no space left */
	FAKE_DENIED, /* nothing is done: no permission */
	FAKE_BROKEN, /* nothing is done: the engine itself is at fault */
	/*
	 * Done, but the answer is the contrary of the truth: init sees no
	 * wrapper where one is, a proof prints something else; cell_gone says
	 * "gone" of a cell that exists, and the other way round.
	 */
	FAKE_LIE,
	FAKE_DEAF,   /* control: no process listens */
	FAKE_UNKNOWN /* inspect: "could not tell"; others: FAKE_FAIL */
};

/* Forgets everything and waits for the fake's threads.  Between two tests. */
void fake_reset(void);

/*
 * The next `times` calls of an operation fail.  Names are those of struct
 * provider_ops ("ensure", "storage_make", ...) and, with "agent." in front, of
 * the control protocol ("agent.launch", "agent.look", ...).  A failing agent
 * answers with `launch_failed`; one that is full or denied, with `no_space` or
 * `permission_denied`.
 */
void fake_script(const char *op, enum fake_how how, int times);

/* Calls `what`, as another worker, just before the next call is done. */
void fake_meanwhile(const char *op, void (*what)(void *arg), void *arg);

/* How often the operation was called since the reset, failures included. */
int fake_calls(const char *op);

/* The last message of that operation; NULL when there was none.  Borrowed. */
const json_t *fake_said(const char *op);

/* The processes of the sandbox are gone, its files stay. */
void fake_crash(const char *id);

/* The sandbox runs, as after a start whose init has not answered yet. */
void fake_half_start(const char *id);

/*
 * Adds a wrapper that no worker launched; a second one of the same session; and
 * lets a wrapper die.
 */
void fake_cell_add(const char *id, const char *session, const char *instance,
    int64_t generation);
void fake_cell_twin(const char *id, const char *session);
void fake_cell_die(const char *id, const char *session);

/* Cells that do not end by SIGTERM; `immortal`: nor by SIGKILL. */
void fake_stubborn(bool stubborn, bool immortal);

/* Agents are from before WebSockets: a launch brings no socket for them. */
void fake_old(void);

/* Sets the answer to the next status requests. */
void fake_status(const struct agent_status *s);

/*
 * Sets the free space: free_mb, and more_mb with every workspace that is
 * dropped; `own`: each sandbox has a file system to itself.  A reset gives
 * plenty.
 */
void fake_capacity(int64_t free_mb, int64_t more_mb, bool own);

/* Adds a session's directories without a session; age -1: unknown. */
void fake_workspace(const char *id, const char *session, int64_t age_seconds);

/* Sets the bytes that `usage` reports; they grow by `more` with every look. */
void fake_usage(const char *session, int64_t bytes, int64_t more);

/* The other members of a usage report; a reset sets them to nothing. */
struct fake_measure {
	int64_t files,
	    more_files;   /* inodes, and how many more with every look */
	int64_t limit_mb; /* of its sandbox */
	bool hidden;      /* not all files could be counted */
};
void fake_measured(const char *session, const struct fake_measure *m);

/* Sets what the processes of a session use, with `running` true. */
void fake_load(const char *session, const struct usage *u);

/* Sets how many inodes of a million (2^20) are free.  A reset frees all. */
void fake_files(int64_t free_files);

/* Whether the session's cell is frozen. */
bool fake_is_frozen(const char *session);

/* Adds a sandbox that runs here and has no row. */
void fake_box_add(const char *id, const char *incarnation);

/* Sets the state of a snapshot; makes the snapshot if there is none. */
void fake_snapshot_be(const char *id, enum snapshot_presence presence);
/* The number of snapshots. */
int fake_snapshots(void);
/* The snapshot that a session's storage was copied from, or "". */
const char *fake_made_of(const char *session);

#endif
