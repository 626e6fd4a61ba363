/*
 * session_control.h: creates, deletes and changes sessions and puts them to
 * sleep, for API, admin and reaper.
 */
#ifndef SANDLEASE_CONTROL_SESSION_CONTROL_H
#define SANDLEASE_CONTROL_SESSION_CONTROL_H

#include "control/control.h"

/* Options of a create; strings are "" and pointers NULL when absent. */
struct session_options {
	const char *name;
	const char *class_name;
	const char *agent_type;
	const char *base_url;
	const char *expires_at;
	const char *idempotency_key;
	const char *request_hash;
	const char *setup;
	const char *snapshot;  /* source of its files, or "" */
	const json_t *changes; /* for an existing session; borrowed */
	const json_t *labels;  /* borrowed */
	const json_t *env;     /* borrowed */
	const json_t *files;   /* borrowed */
	/* number of the first that needs a writable root, from 1; 0: none */
	int64_t files_in_root;
	const json_t *correlation_keys; /* strings; borrowed */
	const json_t *network;          /* a policy; borrowed */
	const json_t *secrets;          /* with their values; borrowed */
	const json_t *limits;           /* its own; borrowed */
	int isolation; /* enum isolation, -1 when not asked for */
	int64_t sleep_after_seconds;
	int64_t max_run_seconds; /* 0: none */
	int64_t concurrency;     /* of executions; 0: as usual */
	bool keep_alive;
	bool wake_on_preview;
	bool suspend;
	bool no_start;          /* register only */
	bool snapshot_fallback; /* start without files if it is gone */
	bool told; /* the client gets the id before the start: keep it */
	bool for_execution; /* agent type and limits are an execution's, too */
};

enum disposition {
	SESSION_CREATED,
	SESSION_REGISTERED,
	SESSION_FOUND,
	SESSION_UNCHANGED, /* found, but its changes were not written */
	SESSION_REPLAYED,
	SESSION_REPLAYED_FOUND, /* the first call had found it */
	SESSION_FAILED_BEFORE   /* never leaves create.c */
};

/*
 * Registers a session and starts it; `id` becomes its id.  If only the start
 * failed, or was not over at the deadline, the disposition is set all the same
 * and the session's own state tells the rest.
 */
int session_control_create(struct control *ctl, const struct principal *who,
    const struct session_options *w, int64_t deadline_ms, char id[ID_MAX],
    enum disposition *how, struct err *e) MUST_CHECK;

/*
 * Puts a session to sleep, and waits for its observed absence as long as one
 * attempt takes.  `suspend`: 1 freezes it where possible, 0 stops it even if it
 * is frozen, -1 does what the session's own setting says.
 */
int session_control_sleep(struct control *ctl, const char *id,
    const char *tenant, const char *reason, int suspend, struct err *e)
    MUST_CHECK;

/* Deletes a session.  *gone: it is deleted now; else the reaper finishes it. */
int session_control_delete(struct control *ctl, const char *id,
    const char *tenant, bool *gone, struct err *e) MUST_CHECK;

/*
 * Applies what PATCH may change; env (may be NULL) as by
 * session_control_set_env(), secrets (may be NULL) in place of those that the
 * session has.
 */
int session_control_patch(struct control *ctl, const char *id,
    const char *tenant, const json_t *changes, const json_t *env,
    const json_t *secrets, struct err *e) MUST_CHECK;

/* Merges env into the sealed one and exports it into living shells. */
int session_control_set_env(struct control *ctl, const char *id,
    const char *tenant, const json_t *env, struct err *e) MUST_CHECK;

/*
 * Closes the session's WebSockets, because a key was revoked: clients with
 * another key connect again.  session_control_bounced() also records that it
 * was done, unless the row has another `bounce_at` by now.
 */
int session_control_ws_bounce(struct control *ctl, const char *id,
    struct err *e) MUST_CHECK;
int session_control_bounced(struct control *ctl, const char *id,
    const char *bounce_at, struct err *e) MUST_CHECK;

/*
 * Sets all correlation keys; ERR_CONFLICT if another session has one of them.
 * With `keys` NULL it frees one, `key`; ERR_NOT_FOUND if the session does not
 * have it.
 */
int session_control_set_keys(struct control *ctl, const char *id,
    const char *tenant, const json_t *keys, const char *key, struct err *e)
    MUST_CHECK;

/* Which mechanism holds each limit of such a sandbox; see provider.h. */
json_t *session_control_limits(struct control *ctl,
    const struct sandbox_spec *spec);

/* The tail of the agent's log, at most `max` bytes. */
int session_control_agent_log(struct control *ctl, const char *id,
    const char *tenant, size_t max, struct buf *out, struct err *e) MUST_CHECK;

#endif
