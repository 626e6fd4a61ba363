/*
 * session_control.h: the use cases of a session, for API, admin and reaper.
 */
#ifndef SANDLEASE_CONTROL_SESSION_CONTROL_H
#define SANDLEASE_CONTROL_SESSION_CONTROL_H

#include "control/control.h"

/* What a create asks for; strings are "" and pointers NULL when absent. */
struct session_options {
	const char *name;
	const char *class_name;
	const char *agent_type;
	const char *base_url;
	const char *expires_at;
	const char *idempotency_key;
	const char *request_hash;
	const char *setup;
	const char *snapshot;  /* what its files come from, or "" */
	const json_t *changes; /* what one that is found takes over; borrowed */
	const json_t *labels;  /* borrowed */
	const json_t *env;     /* borrowed */
	const json_t *files;   /* borrowed */
	int64_t
	    files_in_root; /* the first of these, from 1; see files_body.h */
	const json_t *correlation_keys; /* strings; borrowed */
	int isolation; /* enum isolation, -1 when not asked for */
	int64_t sleep_after_seconds;
	int64_t max_run_seconds; /* 0: none */
	bool keep_alive;
	bool wake_on_preview;
	bool suspend;
	bool no_start;          /* registered only */
	bool snapshot_fallback; /* without files when the snapshot is gone */
	bool told; /* its id is told before its start: it is never taken back */
};

enum disposition {
	SESSION_CREATED,
	SESSION_REGISTERED,
	SESSION_FOUND,
	SESSION_UNCHANGED, /* found; what it was to take over was not written */
	SESSION_REPLAYED,
	SESSION_REPLAYED_FOUND, /* the first answer was of one that was there */
	SESSION_FAILED_BEFORE   /* never leaves create.c */
};

/*
 * Registers and starts; `id` is the session's.  When only starting failed or
 * was not over at the deadline, the disposition is set all the same and the
 * session's own state tells.
 */
int session_control_create(struct control *ctl, const struct principal *who,
    const struct session_options *w, int64_t deadline_ms, char id[ID_MAX],
    enum disposition *how, struct err *e) MUST_CHECK;

/*
 * Puts to sleep, and waits for observed absence as long as an attempt takes.
 * `suspend`: 1 freezes where that can be, 0 stops also what is frozen, -1 does
 * as the session says.
 */
int session_control_sleep(struct control *ctl, const char *id,
    const char *tenant, const char *reason, int suspend, struct err *e)
    MUST_CHECK;

/* *gone: deleted now; else it is deleting and will be. */
int session_control_delete(struct control *ctl, const char *id,
    const char *tenant, bool *gone, struct err *e) MUST_CHECK;

/* Applies what PATCH may change; env (may be NULL) as session_control_set_env. */
int session_control_patch(struct control *ctl, const char *id,
    const char *tenant, const json_t *changes, const json_t *env, struct err *e)
    MUST_CHECK;

/* Merges env into the sealed one and exports it into living shells. */
int session_control_set_env(struct control *ctl, const char *id,
    const char *tenant, const json_t *env, struct err *e) MUST_CHECK;

/*
 * Closes its WebSockets, because a key was revoked: clients with another key
 * connect again.  The second one also notes that it was done, unless the row
 * has another `bounce_at` by now.
 */
int session_control_ws_bounce(struct control *ctl, const char *id,
    struct err *e) MUST_CHECK;
int session_control_bounced(struct control *ctl, const char *id,
    const char *bounce_at, struct err *e) MUST_CHECK;

/*
 * Sets all correlation keys; ERR_CONFLICT when one is another session's.  With
 * `keys` NULL frees one, `key`, ERR_NOT_FOUND when it has no such key.
 */
int session_control_set_keys(struct control *ctl, const char *id,
    const char *tenant, const json_t *keys, const char *key, struct err *e)
    MUST_CHECK;

/* Who holds each limit of such a sandbox; see provider.h. */
json_t *session_control_limits(struct control *ctl,
    const struct sandbox_spec *spec);

/* The tail of the agent's log, at most `max` bytes. */
int session_control_agent_log(struct control *ctl, const char *id,
    const char *tenant, size_t max, struct buf *out, struct err *e) MUST_CHECK;

#endif
