/*
 * session_body.h: reads the bodies of /v1/sessions by tables.
 */
#ifndef SANDLEASE_API_V1_SESSION_BODY_H
#define SANDLEASE_API_V1_SESSION_BODY_H

#include "api/app.h"
#include "control/session_control.h"
#include "domain/limits.h"

enum {
	BODY_MAX = 1024 * 1024,
	SETUP_MAX = 64 * 1024,
	WAIT_DEFAULT_S = 10,
	WAIT_MAX_S = 60
};

struct create_body {
	char name[129];
	char class_name[65];
	char agent_type[AGENT_TYPE_MAX];
	char expires_at[41];
	char base_url[257];
	char sleep_after[17];
	char snapshot[ID_SESSION_LEN + 1];
	int isolation;
	int keep_alive;
	int wake_on_preview;
	int suspend;
	int start;             /* 0: register the session, do not start it */
	int snapshot_fallback; /* 1: start without the snapshot if it is gone */
	bool sleep_given;
	int64_t sleep_after_seconds;
	int64_t max_run_seconds; /* 0: no limit */
	int64_t concurrency;     /* 0: not given */
	const json_t *labels;
	const json_t *env;
	const json_t *files;
	int64_t files_in_root; /* as in session_options */
	const json_t *correlation_keys;
	const json_t *network; /* as network_check() writes it */
	const json_t *secrets; /* as secrets_check() writes them */
	const json_t *limits;
	char setup[SETUP_MAX + 1];
};
extern const struct jfield CREATE_FIELDS[];
extern const size_t CREATE_FIELD_COUNT;

struct patch_body {
	int64_t sleep_after_seconds;
	int64_t max_run_seconds; /* -1: not given; 0: remove the limit */
	int64_t concurrency;     /* 0: not given */
	int keep_alive;
	int suspend;
	int wake_on_preview;
	char expires_at[41];
	const json_t *labels;
	const json_t *env;
	const json_t *network; /* null: the org's default again */
	const json_t *secrets; /* in place of all that it has */
	char base_url[257];
};
extern const struct jfield PATCH_FIELDS[];
extern const size_t PATCH_FIELD_COUNT;

struct sleep_body {
	int suspend; /* -1: as the session is set */
};
extern const struct jfield SLEEP_FIELDS[];
extern const size_t SLEEP_FIELD_COUNT;

struct interrupt_body {
	char shell[129]; /* "": all commands */
};
extern const struct jfield INTERRUPT_FIELDS[];
extern const size_t INTERRUPT_FIELD_COUNT;

struct extend_body {
	int64_t seconds;
};
extern const struct jfield EXTEND_FIELDS[];
extern const size_t EXTEND_FIELD_COUNT;

/*
 * Decodes the body by its table and checks what a table cannot express.  *json
 * owns the memory from which *b borrows.
 */
int create_body_read(struct call *c, struct create_body *b, json_t **json,
    struct err *e) MUST_CHECK;
int patch_body_read(struct call *c, struct patch_body *b, json_t **json,
    struct err *e) MUST_CHECK;

/* Checks names and values of `env`; `nulls`: null removes a variable. */
int body_check_env(const json_t *env, bool nulls, struct err *e) MUST_CHECK;

/*
 * Checks a policy, and replaces it in `json`, which owns it, by the form that is
 * stored.
 */
int body_check_network(json_t *json, const json_t **network, struct err *e)
    MUST_CHECK;

/* Whether `host`, with or without a port, is localhost: http is allowed. */
bool host_is_local(const char *host);

/*
 * The members of a PATCH that were given, except env and secrets, in the format
 * of its statement.  create_changes(): those of a create, for a session that it finds.
 */
json_t *patch_spec(const struct patch_body *b);
json_t *create_changes(const struct create_body *b);

/* Hashes method, path, X-Sandbox-Name and body, for Idempotency-Key. */
void request_hash(const struct call *c, const json_t *body,
    char out[TOKEN_HASH_HEX_MAX]);

/* Reads ?wait=; *seconds stays as it is without one. */
int wait_seconds(struct call *c, int64_t *seconds, struct err *e) MUST_CHECK;

/* The deadline that ?wait= asks for. */
int wait_deadline(struct call *c, int64_t *deadline_ms, struct err *e)
    MUST_CHECK;

#endif
