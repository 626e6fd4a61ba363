/*
 * control.h: what every use case needs in hand.
 *
 * This room writes the order of effects once, for API and reaper alike:
 * intent (one SQL step), act (provider or agent, idempotent, with a
 * deadline), outcome (one SQL step).  No transaction is open meanwhile; a
 * crash between any two leaves a row that says what to repair.
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
	char trace[64]; /* of the request or pass at hand */
	char actor
	    [CONTROL_ACTOR_MAX]; /* who asked for it: key:ID/USER, reaper */
	int64_t intent_ms; /* of clock_ms(), before the last intent to start */
	bool try_setup;    /* at a setup that runs, without waiting for it */
	/*
	 * For a client that does not wait: launch_act() calls it between intent
	 * and act, then has until `go_on_ms` of clock_ms().  NULL: it waits.
	 */
	void (*answer)(void *ctx, const char *session);
	void *answer_ctx;
	int64_t go_on_ms;
};

/* Who asks.  Filled in by api/auth from a key. */
struct principal {
	char key_id[ID_MAX];
	char tenant[CONTROL_NAME_MAX];
	char org[CONTROL_NAME_MAX];
	char user[CONTROL_NAME_MAX];
	char bot[CONTROL_NAME_MAX];
	char scope[CONTROL_WORD_MAX];
	char isolation[CONTROL_WORD_MAX]; /* what the org says */
	char salt[CONTROL_NAME_MAX];      /* of its shared sandboxes */
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
	bool setup;          /* a command must be run before it is ready */
	int64_t stop_due_ms; /* until a stop that is needed is tried again */
	bool gone;           /* asleep because its sandbox has ended */
	bool cut_short;      /* ... in its first start */
	bool put_to_sleep;   /* asleep because somebody, or a rule, wanted it */
	bool suspend;        /* sleep is to freeze it */
	bool suspended;      /* its cell may be frozen */
	enum sandbox_state sandbox_state;
	char host[CONF_STR_MAX];
	char boot_id[BOOT_ID_MAX];
	struct sandbox_spec sandbox; /* id, incarnation, limits */
};

/* What the master does once for all its workers; without seal keys it fails. */
int control_prepare(const struct conf *conf, struct err *e) MUST_CHECK;

/*
 * Loads seal keys, reads the installation's id, opens the provider, and sees
 * that the storage here is this host's (storage_claim.h).
 */
int control_open(const struct conf *conf, struct store *st, struct control *ctl,
    struct err *e) MUST_CHECK;

/* The same without that last look: only for who corrects it. */
int control_open_unclaimed(const struct conf *conf, struct store *st,
    struct control *ctl, struct err *e) MUST_CHECK;

/*
 * Whether this host still has what it had at control_open(): its programs, its
 * directories, its storage.  ERR_UNAVAILABLE "host_not_ready" or
 * "storage_mismatch".
 */
int control_ready(const struct control *ctl, struct err *e) MUST_CHECK;

/* Whether sessions can be started here: control_open(), and a sandbox on trial. */
int control_check(const struct conf *conf, struct store *st, struct err *e)
    MUST_CHECK;

/*
 * Reads one session; tenant "" is the reaper's.  ERR_NOT_FOUND alike for
 * none and for somebody else's.  A row that predates sandbox ids gets its
 * own here, once.
 */
int control_session(struct control *ctl, const char *id, const char *tenant,
    struct session_row *out, struct err *e) MUST_CHECK;

/* Which boot of this host this is. */
const char *control_boot_id(const struct control *ctl);

/* What the agent must be told to mean this session and no other life of it. */
struct agent_target control_target(const struct session_row *s);

/*
 * The same of a row with the columns session_id, sandbox_id, incarnation,
 * instance and generation.
 */
struct agent_target row_target(const struct rows *r, size_t row);

/*
 * Whether this host may act on the sandbox.  Another host has it while that
 * host has its processes or, when it is stopped, its files.
 */
bool control_is_here(const struct control *ctl, const struct session_row *s);

/* ERR_UNAVAILABLE "other_host", which names the host.  -1. */
int control_other_host(const char *host, struct err *e);

/* The same, unless it is here. */
int control_must_be_here(const struct control *ctl, const struct session_row *s,
    struct err *e) MUST_CHECK;

/* ERR_CONFLICT of a session that is being deleted, ERR_GONE of one that was. */
int control_must_live(enum session_state s, struct err *e) MUST_CHECK;

/*
 * Whether a wrapper takes messages: now if it is ready, when it goes on if it
 * is suspended (they wait for it, and nobody waits for the answer).
 */
bool control_takes_messages(const struct session_row *s);

/* Fills in the sandbox part of a spec from columns of a row. */
void control_spec(const struct rows *r, size_t row, struct sandbox_spec *out);

/*
 * The courtesy lock around provider calls for one sandbox: waits at most
 * lock_timeout.  It avoids waste; safety never rests on it.
 */
int control_lock(struct control *ctl, const char *sandbox, struct err *e)
    MUST_CHECK;
void control_unlock(struct control *ctl, const char *sandbox);
/* Of several, as often as each is in the list. */
void control_unlock_all(struct control *ctl, const json_t *sandboxes);

/*
 * An event that says a session's agent died, with the tail of its log.  Best
 * effort: the death itself is recorded by the lease.
 */
void control_note_death(struct control *ctl, const char *sandbox,
    const char *session, int64_t generation);

/*
 * Who acts, for a spec; NULL when it is the program itself, whose name the
 * database knows.
 */
const char *control_actor(const struct control *ctl);

/* A JSON object as text for a statement's spec parameter; frees `o`. */
char *control_spec_text(json_t *o);

/* `v` sealed as `what` of a session: a string, or null for NULL. */
json_t *control_seal(struct control *ctl, const char *session, const char *what,
    const json_t *v);

/* What was sealed as `what` of a session; NULL for "". */
int control_unseal(struct control *ctl, const char *session, const char *what,
    const char *sealed, json_t **out, struct err *e) MUST_CHECK;

#endif
