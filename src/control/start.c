/* start.c: from an intent to a wrapper that answers. */
#include "control/start.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/discover.h"
#include "control/sandbox_control.h"
#include "control/stop.h"

enum { TRIES = 3, FILE_MODE = 0644 };

json_t *
start_intent(struct control *ctl)
{
	char instance[ID_MAX], incarnation[ID_MAX];

	id_random(instance, ID_INSTANCE_LEN);
	id_random(incarnation, ID_INCARNATION_LEN);
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:s}", "instance", instance,
	    "incarnation", incarnation, "host", ctl->conf->host_name, "boot",
	    ctl->provider.boot_id, "seconds",
	    (json_int_t)ctl->conf->startup_allowance_seconds, "trace",
	    ctl->trace);
}

/* One start under way: the plan's columns, decoded. */
struct start {
	struct sandbox_spec sandbox;
	struct agent_target target;
	struct agent_launch launch;
	json_t *env;   /* owned */
	json_t *files; /* owned */
	bool first;    /* the session has no storage yet */
	char version[AGENT_VERSION_MAX];
};

static void
release_start(struct start *s)
{
	json_decref(s->env);
	json_decref(s->files);
}

static int
open_sealed(struct control *ctl, const char *session, const char *what,
    const char *sealed, json_t **out, struct err *e)
{
	auto_free char *owner = xasprintf("%s:%s", session, what);
	auto_buf struct buf plain = { 0 };
	int rc;

	if (sealed[0] == '\0') {
		*out = NULL;
		return 0;
	}
	if (seal_open(&ctl->keys, owner, sealed, &plain, e) < 0)
		return err_wrap(e, "%s", what);
	rc = json_parse(plain.data, plain.len, out, e);
	sodium_memzero(plain.data, plain.len);
	return rc;
}

static int
read_plan(struct control *ctl, const struct rows *plan, struct start *s,
    struct err *e)
{
	auto_free char *ports = xstrdup(rows_text(plan, 0, "ports"));
	char *save = NULL;

	*s = (struct start){ 0 };
	control_spec(plan, 0, &s->sandbox);
	str_copy(s->target.sandbox, sizeof(s->target.sandbox), s->sandbox.id);
	str_copy(s->target.incarnation, sizeof(s->target.incarnation),
	    s->sandbox.incarnation);
	str_copy(s->target.session, sizeof(s->target.session),
	    rows_text(plan, 0, "session_id"));
	str_copy(s->target.instance, sizeof(s->target.instance),
	    rows_text(plan, 0, "instance"));
	s->target.generation = rows_int(plan, 0, "generation");
	s->first = s->target.generation == 1;
	for (char *p = strtok_r(ports, ",", &save);
	     p != NULL && s->launch.port_count < AGENT_PORTS_MAX;
	     p = strtok_r(NULL, ",", &save))
		s->launch.ports[s->launch.port_count++] = strtoll(p, NULL, 10);
	if (open_sealed(ctl, s->target.session, "env",
		rows_text(plan, 0, "env_sealed"), &s->env, e) < 0 ||
	    open_sealed(ctl, s->target.session, "files",
		rows_text(plan, 0, "files_sealed"), &s->files, e) < 0)
		return -1;
	s->launch.env = s->env;
	return 0;
}

static int
write_file(struct control *ctl, const struct start *s, const json_t *f,
    int64_t deadline_ms, struct err *e)
{
	const char *b64 = json_str(f, "contentBase64");
	const json_t *text = json_object_get(f, "content");
	const json_t *given = json_object_get(f, "mode");
	int64_t mode = given != NULL ? json_integer_value(given) : FILE_MODE;
	size_t max = strlen(b64), len = 0;
	auto_free unsigned char *bytes = NULL;

	if (text != NULL)
		return agent_write(&ctl->provider, &s->target,
		    json_str(f, "path"), mode, json_string_value(text),
		    json_string_length(text), deadline_ms, e);
	bytes = xmalloc(max);
	if (sodium_base642bin(bytes, max, b64, max, NULL, &len, NULL,
		sodium_base64_VARIANT_ORIGINAL) != 0)
		return err_field(e, "files", "contentBase64 is not base64");
	return agent_write(&ctl->provider, &s->target, json_str(f, "path"),
	    mode, (const char *)bytes, len, deadline_ms, e);
}

static int
write_files(struct control *ctl, const struct start *s, int64_t deadline_ms,
    struct err *e)
{
	size_t i;
	json_t *f;

	json_array_foreach(s->files, i, f)
	{
		if (write_file(ctl, s, f, deadline_ms, e) < 0)
			return err_wrap(e, "writing %s", json_str(f, "path"));
	}
	return 0;
}

/* Its files must be there unless this is its very first start. */
static int
have_storage(struct control *ctl, const struct start *s, struct err *e)
{
	const struct provider_ops *ops = ctl->provider.ops;
	bool there = true;

	if (!s->first &&
	    ops->storage_exists(&ctl->provider, s->sandbox.id,
		s->target.session, &there, e) < 0)
		return -1;
	if (!there)
		return err_set(e, ERR_GONE, "storage_gone",
		    "the session's files are gone");
	return ops->storage_make(&ctl->provider, s->sandbox.id,
	    s->target.session, e);
}

/* The version differs: told, never in the way. */
static void
compare_version(struct control *ctl, struct start *s, int64_t deadline_ms)
{
	struct err e = { 0 };

	if (agent_ping(&ctl->provider, s->sandbox.id, s->sandbox.incarnation,
		s->version, deadline_ms, &e) < 0 ||
	    str_equal(s->version, PACKAGE_VERSION))
		return;
	log_line(LOG_WARN, "agent_version",
	    "sandbox %s runs agent %s, this is %s: it goes on; put its sessions to sleep and resume them to get the new one",
	    s->sandbox.id, s->version, PACKAGE_VERSION);
}

static int
bring_up(struct control *ctl, const struct rows *plan, struct start *s,
    int64_t deadline_ms, struct err *e)
{
	const struct provider *p = &ctl->provider;

	if (have_storage(ctl, s, e) < 0)
		return -1;
	if (str_equal(rows_text(plan, 0, "sandbox_state"), "creating")) {
		if (p->ops->ensure(p, &s->sandbox, deadline_ms, e) < 0)
			return -1;
		compare_version(ctl, s, deadline_ms);
	}
	if (agent_launch(p, &s->sandbox, &s->target, &s->launch, deadline_ms,
		e) < 0 ||
	    write_files(ctl, s, deadline_ms, e) < 0)
		return -1;
	return agent_prove(p, &s->target, deadline_ms, e);
}

static int
record_success(struct control *ctl, const struct start *s, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec =
	    control_spec_text(json_pack("{s:s, s:I, s:s, s:s, s:I, s:s, s:s*}",
		"instance", s->target.instance, "generation",
		(json_int_t)s->target.generation, "sandbox", s->sandbox.id,
		"incarnation", s->sandbox.incarnation, "seconds",
		(json_int_t)ctl->conf->ready_without_work_seconds, "trace",
		ctl->trace, "version",
		s->version[0] != '\0' ? s->version : NULL));

	if (STORE_RUN(ctl->store, STMT_SESSION_VERIFIED, &r, e,
		s->target.session, spec) < 0)
		return -1;
	if (!rows_bool(r, 0, "applied"))
		return err_set(e, ERR_BUSY, "lease_changed",
		    "the session was stopped while it started");
	return 0;
}

static bool
code_is_in(const struct err *e, const char *const *codes, size_t count)
{
	for (size_t i = 0; e->code != NULL && i < count; i++)
		if (str_equal(e->code, codes[i]))
			return true;
	return false;
}

bool
start_worth_retry(const struct err *e)
{
	static const char *const CODES[] = { "not_listening", "peer_closed",
		"stale_incarnation", "stale_generation", "lease_changed" };

	return code_is_in(e, CODES, ARRAY_LEN(CODES));
}

bool
start_undecided(const struct err *e)
{
	static const char *const FINAL[] = { "start_failed", "launch_failed",
		"no_rootfs", "draining", "other_host", "host_not_ready" };

	if (start_worth_retry(e))
		return true;
	return (e->kind == ERR_BUSY || e->kind == ERR_UNAVAILABLE) &&
	    !code_is_in(e, FINAL, ARRAY_LEN(FINAL));
}

static int
mark_lost(struct control *ctl, const struct start *s, struct err *e)
{
	auto_free char *spec =
	    control_spec_text(json_pack("{s:s, s:I, s:b, s:s, s:s}", "instance",
		s->target.instance, "generation",
		(json_int_t)s->target.generation, "lost", 1, "reason",
		"storage_gone", "trace", ctl->trace));

	return STORE_RUN(ctl->store, STMT_SESSION_SANDBOX_GONE, NULL, e,
	    s->target.session, spec);
}

int
start_act(struct control *ctl, const struct rows *plan, int64_t deadline_ms,
    struct err *e)
{
	__attribute__((cleanup(release_start))) struct start s = { 0 };
	struct err ignored = { 0 };
	const char *session = rows_text(plan, 0, "session_id");
	const char *sandbox = rows_text(plan, 0, "sandbox_id");
	int rc;

	if (control_lock(ctl, sandbox, e) < 0)
		return -1;
	rc = read_plan(ctl, plan, &s, e);
	if (rc == 0)
		rc = bring_up(ctl, plan, &s, deadline_ms, e);
	if (rc == 0)
		rc = record_success(ctl, &s, e);
	control_unlock(ctl, sandbox);
	if (rc == 0 || start_undecided(e))
		return rc;
	log_err(LOG_WARN, "start_failed", e);
	if (e->kind == ERR_GONE) {
		if (mark_lost(ctl, &s, &ignored) < 0)
			log_err(LOG_WARN, "start_cleanup", &ignored);
		return -1;
	}
	if (stop_request(ctl, session, STOP_FAIL, "startup-failed", e->msg, -1,
		&ignored) < 0 ||
	    stop_attempt(ctl, session, &ignored) < 0)
		log_err(LOG_WARN, "start_cleanup", &ignored);
	return -1;
}

static int
restart(struct control *ctl, const struct session_row *s, int64_t deadline_ms,
    struct err *e)
{
	auto_rows struct rows *plan = NULL;
	auto_free char *spec = NULL;
	json_t *intent = start_intent(ctl);

	json_object_set_new(intent, "seenState", json_string(s->lease));
	json_object_set_new(intent, "seenGeneration",
	    json_integer(s->generation));
	spec = control_spec_text(intent);
	if (STORE_RUN(ctl->store, STMT_SESSION_RESTART, &plan, e, s->id, spec) <
	    0)
		return -1;
	return start_act(ctl, plan, deadline_ms, e);
}

/* There is a wrapper of ours; if nobody has proved it yet, do so now. */
static int
reuse(struct control *ctl, const struct session_row *s, int64_t deadline_ms,
    struct err *e)
{
	struct start st = { .sandbox = s->sandbox,
		.target = control_target(s) };

	if (str_equal(s->state, "ready"))
		return 0;
	if (agent_prove(&ctl->provider, &st.target, deadline_ms, e) < 0)
		return -1;
	return record_success(ctl, &st, e);
}

static int
refuse(struct control *ctl, const struct session_row *s, const char *reason,
    struct err *e)
{
	struct err why = *e;

	if (stop_request(ctl, s->id, STOP_SLEEP, reason, NULL, -1, e) < 0)
		return -1;
	return err_set(e, ERR_BUSY, "lease_busy",
	    "the last wrapper must be seen gone first (%s)",
	    why.msg[0] != '\0' ? why.msg : reason);
}

/* A look under the sandbox's lock; a sandbox that is down is settled so. */
static int
look(struct control *ctl, const struct session_row *s, enum sight *sight,
    struct err *e)
{
	bool down;
	size_t siblings;
	int rc = 0;

	if (control_lock(ctl, s->sandbox.id, e) < 0)
		return -1;
	*sight = discover(ctl, s, &down, e);
	if (down && discover_row_runs(s)) {
		rc = sandbox_control_gone(ctl, s->sandbox.id,
		    s->sandbox.incarnation, &siblings, e);
		if (rc == 0) /* the rows have changed: look again */
			rc = err_set(e, ERR_BUSY, "lease_changed",
			    "the sandbox was down");
	}
	control_unlock(ctl, s->sandbox.id);
	return rc;
}

static int
look_and_start(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e)
{
	enum sight sight = SIGHT_UNKNOWN;

	if (look(ctl, s, &sight, e) < 0)
		return -1;
	switch (sight) {
	case SIGHT_ABSENT:
		if (str_equal(s->state, "ready"))
			control_note_death(ctl, s->sandbox.id, s->id,
			    s->generation);
		return restart(ctl, s, deadline_ms, e);
	case SIGHT_OURS:
		if (str_equal(s->lease, "owns_wrapper"))
			return reuse(ctl, s, deadline_ms, e);
		return refuse(ctl, s, "unexpected-wrapper", e);
	case SIGHT_OTHER:
		return refuse(ctl, s, "unexpected-wrapper", e);
	case SIGHT_UNKNOWN:
		return refuse(ctl, s, "observation-failed", e);
	}
	return err_set(e, ERR_INTERNAL, "internal", "a look without an answer");
}

/* What must be settled before a look makes sense.  1: start over. */
static int
settle_first(struct control *ctl, const struct session_row *s, struct err *e)
{
	if (str_equal(s->state, "deleting") || str_equal(s->state, "deleted"))
		return err_set(e, ERR_CONFLICT, "session_deleting",
		    "the session is being deleted");
	if (str_equal(s->state, "lost"))
		return err_set(e, ERR_CONFLICT, "session_lost",
		    "the session's files are gone; it can only be deleted");
	if (str_equal(s->lease, "stop_needed"))
		return stop_attempt(ctl, s->id, e) < 0 ? -1 : 1;
	if (str_equal(s->lease, "stopping"))
		return err_set(e, ERR_BUSY, "lease_busy",
		    "the last wrapper is being stopped");
	return 0;
}

int
start_session(struct control *ctl, const char *session, const char *tenant,
    int64_t deadline_ms, struct err *e)
{
	for (int i = 0; i < TRIES; i++) {
		struct session_row s;
		int first;

		*e = (struct err){ 0 };
		if (control_session(ctl, session, tenant, &s, e) < 0)
			return -1;
		first = settle_first(ctl, &s, e);
		if (first < 0)
			return -1;
		if (first > 0)
			continue;
		if (look_and_start(ctl, &s, deadline_ms, e) == 0)
			return 0;
		if (!start_worth_retry(e))
			return -1;
	}
	if (e->kind == ERR_NONE)
		err_set(e, ERR_BUSY, "lease_busy",
		    "the last wrapper has not been seen gone yet");
	return -1;
}
