/*
 * control.h: the context that every use case works with, and its helpers.
 *
 * The files of src/control/ write the order of effects once, for API and reaper
 * alike: intent (one SQL step), act (provider or agent, idempotent, with a
 * deadline), outcome (one SQL step).  No transaction is open during the act.  A
 * crash between any two steps leaves a row that says what to repair.
 */
#ifndef SANDLEASE_CONTROL_CONTROL_H
#define SANDLEASE_CONTROL_CONTROL_H

#include <stdint.h>

#include "common/conf.h"
#include "common/err.h"
#include "common/json.h"
#include "common/token.h"
#include "domain/agent.h"
#include "domain/sandbox.h"
#include "domain/state.h"
#include "provider/handle.h"
#include "store/store.h"

enum {
	CONTROL_WORD_MAX = 32,
	CONTROL_NAME_MAX = 160,
	CONTROL_ACTOR_MAX = 8 + ID_MAX + CONTROL_NAME_MAX
};

struct control {
	const struct conf *conf; /* borrowed */
	struct store *store;     /* borrowed */
	struct provider provider;
	struct seal_keys keys;
	char trace[64]; /* id of the current request or pass */
	/* the requester: key:ID/USER, gate:...; "": this program itself */
	char actor[CONTROL_ACTOR_MAX];
	int64_t intent_ms; /* clock_ms() before the last intent to start */
	bool try_setup;    /* ask a running setup, but do not wait for it */
	/*
	 * Callback that answers a client that does not wait.  launch_act()
	 * calls it between intent and act, and may then work until `go_on_ms`
	 * of clock_ms().  NULL: the client waits.
	 */
	void (*answer)(void *ctx, const char *session);
	void *answer_ctx;
	int64_t go_on_ms;
	/*
	 * The caller shows the session as soon as it has started, so the
	 * statement that records the start returns its row, too.
	 */
	bool show;
	struct rows *started; /* owned; that row, or NULL */
	bool pool_asked;      /* a create wanted a sandbox of the warm pool */
};

/* The authenticated requester.  src/api/gate/ fills it in from a key. */
struct principal {
	char key_id[ID_MAX];
	char tenant[CONTROL_NAME_MAX];
	char org[CONTROL_NAME_MAX];
	char user[CONTROL_NAME_MAX];
	char bot[CONTROL_NAME_MAX];
	char scope[CONTROL_WORD_MAX];
	char isolation[CONTROL_WORD_MAX]; /* the org's setting */
	char salt[CONTROL_NAME_MAX]; /* for ids of the org's shared sandboxes */
};

/* A session, its lease and its sandbox as the rows say. */
struct session_row {
	char id[ID_MAX];
	enum session_state state;
	char tenant[CONTROL_NAME_MAX];
	char org[CONTROL_NAME_MAX];
	char user[CONTROL_NAME_MAX];
	char bot[CONTROL_NAME_MAX];
	char isolation[CONTROL_WORD_MAX];
	enum lease_state lease;
	int64_t generation;
	char instance[ID_MAX];
	int64_t activity_seq;
	bool setup;          /* a command must run before it is ready */
	int64_t stop_due_ms; /* until the next attempt to stop it */
	bool gone;           /* asleep because its sandbox or wrapper is gone */
	bool cut_short;      /* ... before it was ever ready */
	bool put_to_sleep;   /* asleep by a request or a rule */
	bool suspend;        /* sleep means to freeze it */
	bool suspended;      /* its cell may be frozen */
	bool network;        /* may connect to something */
	enum sandbox_state sandbox_state;
	char host[CONF_STR_MAX];
	char boot_id[BOOT_ID_MAX];
	struct sandbox_spec sandbox; /* id, incarnation, limits */
};

/*
 * Makes the preparations that the master makes once for all its workers.  Fails
 * without seal keys.
 */
int control_prepare(const struct conf *conf, struct err *e) MUST_CHECK;

/*
 * Loads seal keys, reads the installation's id, opens the provider, and checks
 * that the storage here is this host's (storage_claim.h).
 */
int control_open(const struct conf *conf, struct store *st, struct control *ctl,
    struct err *e) MUST_CHECK;

/* The same without the check of the storage: only for storage_adopt(). */
int control_open_unclaimed(const struct conf *conf, struct store *st,
    struct control *ctl, struct err *e) MUST_CHECK;

/*
 * Whether this host still has what it had at control_open(): its programs, its
 * directories, its storage.  ERR_UNAVAILABLE "host_not_ready" or
 * "storage_mismatch".
 */
int control_ready(const struct control *ctl, struct err *e) MUST_CHECK;

/*
 * Whether sessions can be started here: control_open(), control_ready(), and
 * the start of a sandbox on trial.
 */
int control_check(const struct conf *conf, struct store *st, struct err *e)
    MUST_CHECK;

/*
 * Reads one session; tenant "" means any.  ERR_NOT_FOUND is the same for no
 * session and for one of another tenant.  A row from before sandbox ids gets
 * its id here, once.
 */
int control_session(struct control *ctl, const char *id, const char *tenant,
    struct session_row *out, struct err *e) MUST_CHECK;

/* The id of this host's present boot. */
const char *control_boot_id(const struct control *ctl);

/* The address for messages to the agent: this session, this generation only. */
struct agent_target control_target(const struct session_row *s);

/*
 * The same from a row with the columns session_id, sandbox_id, incarnation,
 * instance and generation.
 */
struct agent_target row_target(const struct rows *r, size_t row);

/*
 * Whether this host may act on the session's sandbox.  A sandbox belongs to the
 * host that has its processes or, when it is stopped, its files.
 */
bool control_is_here(const struct control *ctl, const struct session_row *s);

/* Sets ERR_UNAVAILABLE "other_host", which names the host.  Always -1. */
int control_other_host(const char *host, struct err *e);

/* Fails like control_other_host() unless control_is_here(). */
int control_must_be_here(const struct control *ctl, const struct session_row *s,
    struct err *e) MUST_CHECK;

/* ERR_CONFLICT if the session is being deleted, ERR_GONE if it was deleted. */
int control_must_live(enum session_state s, struct err *e) MUST_CHECK;

/*
 * Adds secrets to a spec: their hosts and headers, and all of it sealed.
 */
void control_add_secrets(struct control *ctl, const char *session,
    const json_t *secrets, json_t *spec);

/*
 * Whether the session's wrapper takes messages.  One that is ready answers now.
 * One that is suspended reads them after its thaw, so do not wait for the
 * answer.
 */
bool control_takes_messages(const struct session_row *s);

/* Fills in the sandbox part of a spec from columns of a row. */
void control_spec(const struct rows *r, size_t row, struct sandbox_spec *out);

/*
 * The advisory lock around provider calls for one sandbox; waits at most
 * lock_timeout.  It only avoids double work: safety rests on fences and seals.
 */
int control_lock(struct control *ctl, const char *sandbox, struct err *e)
    MUST_CHECK;
void control_unlock(struct control *ctl, const char *sandbox);
/* Unlocks several; an id that is in the list twice is unlocked twice. */
void control_unlock_all(struct control *ctl, const json_t *sandboxes);

/*
 * Adds an event that a session's wrapper died, with the tail of the agent's
 * log.  Best effort: the lease records the death itself.
 */
void control_note_death(struct control *ctl, const char *sandbox,
    const char *session, int64_t generation);

/*
 * The "actor" for a spec: the requester, or NULL when the program acts by
 * itself.  The database knows the program's name from the connection.
 */
const char *control_actor(const struct control *ctl);

/* Frees ctl->started: the session is shown, or another request has come. */
void control_forget_started(struct control *ctl);

/* Names the limit that "limit_too_high" means as the field.  Always -1. */
int control_limit_refused(struct err *e);

/* A JSON object as text for a statement's spec parameter; frees `o`. */
char *control_spec_text(json_t *o);

/* Seals `v` as `what` of a session: a string, or null if `v` is NULL. */
json_t *control_seal(struct control *ctl, const char *session, const char *what,
    const json_t *v);

/*
 * Opens what control_seal() sealed as `what`; *out is NULL if `sealed` is "".
 */
int control_unseal(struct control *ctl, const char *session, const char *what,
    const char *sealed, json_t **out, struct err *e) MUST_CHECK;

#endif
