/* control.c: the context that every use case works with. */
#include "control/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/storage_claim.h"
#include "domain/secrets.h"
#include "provider/choose/choose.h"
#include "provider/provider.h"

int
control_prepare(const struct conf *conf, struct err *e)
{
	struct seal_keys keys;

	if (seal_keys_load(conf->seal_key_file, &keys, e) < 0)
		return -1;
	explicit_bzero(&keys, sizeof(keys)); /* workers load their own */
	return provider_prepare(conf, e);
}

int
control_open_unclaimed(const struct conf *conf, struct store *st,
    struct control *ctl, struct err *e)
{
	auto_rows struct rows *r = NULL;

	*ctl = (struct control){ .conf = conf, .store = st };
	if (seal_keys_load(conf->seal_key_file, &ctl->keys, e) < 0 ||
	    STORE_RUN(st, STMT_INSTALLATION, &r, e) < 0)
		return -1;
	return provider_open("local", conf, rows_text(r, 0, "id"),
	    &ctl->provider, e);
}

int
control_open(const struct conf *conf, struct store *st, struct control *ctl,
    struct err *e)
{
	if (control_open_unclaimed(conf, st, ctl, e) < 0)
		return -1;
	return storage_claim(ctl, e);
}

int
control_ready(const struct control *ctl, struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->ready(p, e) < 0 ? -1 : storage_is_here(ctl, e);
}

int
control_check(const struct conf *conf, struct store *st, struct err *e)
{
	struct control ctl;

	return control_open(conf, st, &ctl, e) < 0 || control_ready(&ctl, e) < 0
	    ? -1
	    : provider_check(&ctl.provider, e);
}

static void
copy_column(char *to, size_t size, const struct rows *r, size_t row,
    const char *col)
{
	str_copy(to, size, rows_text(r, row, col));
}
#define COPY(member, col)                                                      \
	copy_column(out->member, sizeof(out->member), r, row, col)

void
control_spec(const struct rows *r, size_t row, struct sandbox_spec *out)
{
	*out = (struct sandbox_spec){ 0 };
	COPY(id, "sandbox_id");
	COPY(incarnation, "incarnation");
	COPY(rootfs, "rootfs");
	out->writable_root = rows_bool(r, row, "writable_root");
	out->epoch = rows_int(r, row, "epoch");
	out->memory_mb = rows_int(r, row, "memory_mb");
	out->cpu_millis = rows_int(r, row, "cpu_millis");
	out->disk_mb = rows_int(r, row, "disk_mb");
	out->pids = rows_int(r, row, "pids");
}

/* Derives the sandbox id of a row that has none, and writes it into the row. */
static int
adopt_sandbox(struct control *ctl, const struct session_row *s, struct err *e)
{
	char id[SANDBOX_ID_MAX];
	bool isolated = str_equal(s->isolation, "session") ||
	    sandbox_id_isolated_by_list(ctl->conf->per_session_orgs, s->org);
	const struct sandbox_owner o = { .org = s->org,
		.user = s->user,
		.bot = s->bot,
		.salt = "",
		.session = s->id };

	sandbox_id_derive(&o, isolated, id);
	return STORE_RUN(ctl->store, STMT_SESSION_ADOPT_SANDBOX, NULL, e, s->id,
	    id, isolated ? "small" : "shared");
}

static int
read_session(struct control *ctl, const char *id, const char *tenant,
    struct session_row *out, struct err *e)
{
	auto_rows struct rows *r = NULL;
	const size_t row = 0;

	*out = (struct session_row){ 0 };
	if (!id_is_session(id))
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	if (STORE_RUN(ctl->store, STMT_SESSION_LOOK, &r, e, id, tenant) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	COPY(id, "id");
	COPY(tenant, "tenant");
	COPY(org, "org");
	COPY(user, "user_id");
	COPY(bot, "bot");
	COPY(isolation, "isolation");
	COPY(instance, "instance");
	COPY(host, "host");
	COPY(boot_id, "boot_id");
	out->state = state_session_parse(rows_text(r, 0, "state"));
	out->lease = state_lease_parse(rows_text(r, 0, "lease"));
	out->sandbox_state =
	    state_sandbox_parse(rows_text(r, 0, "sandbox_state"));
	out->generation = rows_int(r, 0, "generation");
	out->stop_due_ms = rows_int(r, 0, "stop_due_ms");
	out->activity_seq = rows_int(r, 0, "activity_seq");
	out->setup = rows_bool(r, 0, "setup");
	out->gone = rows_bool(r, 0, "gone");
	out->cut_short = rows_bool(r, 0, "cut_short");
	out->put_to_sleep = rows_bool(r, 0, "put_to_sleep");
	out->suspend = rows_bool(r, 0, "suspend");
	out->suspended = rows_bool(r, 0, "suspended");
	out->network = !str_equal(rows_text(r, 0, "network_mode"), "none");
	control_spec(r, 0, &out->sandbox);
	return 0;
}
#undef COPY

int
control_session(struct control *ctl, const char *id, const char *tenant,
    struct session_row *out, struct err *e)
{
	if (read_session(ctl, id, tenant, out, e) < 0)
		return -1;
	if (out->sandbox.id[0] == '\0' &&
	    (adopt_sandbox(ctl, out, e) < 0 ||
		read_session(ctl, id, tenant, out, e) < 0))
		return -1;
	return sandbox_id_check(out->sandbox.id, e);
}

const char *
control_boot_id(const struct control *ctl)
{
	return ctl->provider.boot_id;
}

struct agent_target
control_target(const struct session_row *s)
{
	struct agent_target t = { .generation = s->generation };

	str_copy(t.sandbox, sizeof(t.sandbox), s->sandbox.id);
	str_copy(t.incarnation, sizeof(t.incarnation), s->sandbox.incarnation);
	str_copy(t.session, sizeof(t.session), s->id);
	str_copy(t.instance, sizeof(t.instance), s->instance);
	return t;
}

struct agent_target
row_target(const struct rows *r, size_t row)
{
	struct agent_target t = { .generation =
				      rows_int(r, row, "generation") };

	copy_column(t.sandbox, sizeof(t.sandbox), r, row, "sandbox_id");
	copy_column(t.incarnation, sizeof(t.incarnation), r, row,
	    "incarnation");
	copy_column(t.session, sizeof(t.session), r, row, "session_id");
	copy_column(t.instance, sizeof(t.instance), r, row, "instance");
	return t;
}

bool
control_is_here(const struct control *ctl, const struct session_row *s)
{
	return s->host[0] == '\0' || s->sandbox_state == SANDBOX_ABSENT ||
	    str_equal(s->host, ctl->conf->host_name);
}

int
control_other_host(const char *host, struct err *e)
{
	auto_free char *more =
	    control_spec_text(json_pack("{s:o}", "host", json_lossy(host)));

	err_set(e, ERR_UNAVAILABLE, CODE_OTHER_HOST,
	    "the sandbox belongs to host %s", host);
	str_copy(e->more, sizeof(e->more), more);
	return -1;
}

int
control_must_be_here(const struct control *ctl, const struct session_row *s,
    struct err *e)
{
	return control_is_here(ctl, s) ? 0 : control_other_host(s->host, e);
}

int
control_must_live(enum session_state s, struct err *e)
{
	if (s == SESSION_DELETED)
		return err_set(e, ERR_GONE, CODE_SESSION_DELETED,
		    "the session was deleted");
	if (s == SESSION_DELETING)
		return err_set(e, ERR_CONFLICT, CODE_SESSION_DELETING,
		    "the session is being deleted");
	return 0;
}

bool
control_takes_messages(const struct session_row *s)
{
	return s->state == SESSION_READY ||
	    (s->suspended && s->lease == LEASE_OWNS_WRAPPER);
}

int
control_lock(struct control *ctl, const char *sandbox, struct err *e)
{
	return STORE_RUN(ctl->store, STMT_SANDBOX_LOCK, NULL, e, sandbox);
}

void
control_unlock(struct control *ctl, const char *sandbox)
{
	struct err e = { 0 };

	/* a lost connection has released its locks */
	if (STORE_RUN(ctl->store, STMT_SANDBOX_UNLOCK, NULL, &e, sandbox) < 0)
		log_err(LOG_WARN, "unlock", &e);
}

void
control_unlock_all(struct control *ctl, const json_t *sandboxes)
{
	auto_free char *text = json_text(sandboxes);
	struct err e = { 0 };

	if (STORE_RUN(ctl->store, STMT_SANDBOXES_UNLOCK, NULL, &e, text) < 0)
		log_err(LOG_WARN, "unlock", &e);
}

void
control_note_death(struct control *ctl, const char *sandbox,
    const char *session, int64_t generation)
{
	enum { TAIL_MAX = 4096 };
	auto_buf struct buf tail = { 0 };
	auto_free char *detail = NULL;
	json_t *log;
	char text[24];
	struct err e = { 0 };

	if (ctl->provider.ops->agent_log(&ctl->provider, sandbox, TAIL_MAX,
		&tail, &e) < 0)
		log_err(LOG_WARN, "agent_log", &e);
	log = json_string(tail.len > 0 ? tail.data : "");
	detail = control_spec_text(json_pack("{s:o}", "log",
	    log != NULL ? log : json_string("(not UTF-8)")));
	snprintf(text, sizeof(text), "%" PRId64, generation);
	if (STORE_RUN(ctl->store, STMT_EVENT_ADD, NULL, &e, session, "agent",
		"died", text, ctl->trace, detail) < 0)
		log_err(LOG_WARN, "event", &e);
	log_line(LOG_WARN, "agent_died",
	    "the wrapper of session %s, generation %s, is gone", session, text);
}

const char *
control_actor(const struct control *ctl)
{
	return ctl->actor[0] != '\0' ? ctl->actor : NULL;
}

void
control_forget_started(struct control *ctl)
{
	rows_free(&ctl->started);
}

char *
control_spec_text(json_t *o)
{
	char *text;

	if (o == NULL)
		abort(); /* a bug in a json_pack() format: never send an empty spec */
	text = json_text(o);
	json_decref(o);
	return text;
}

json_t *
control_seal(struct control *ctl, const char *session, const char *what,
    const json_t *v)
{
	auto_free char *owner = xasprintf("%s:%s", session, what);
	auto_buf struct buf out = { 0 };
	auto_free char *text = NULL;

	if (v == NULL)
		return json_null();
	text = json_text(v);
	seal(&ctl->keys, owner, text, strlen(text), &out);
	token_wipe(text, strlen(text));
	return json_string(out.data);
}

void
control_add_secrets(struct control *ctl, const char *session,
    const json_t *secrets, json_t *spec)
{
	json_object_set_new(spec, "secrets", secrets_names(secrets));
	json_object_set_new(spec, "secretsSealed",
	    json_array_size(secrets) > 0
		? control_seal(ctl, session, "secrets", secrets)
		: json_null());
}

int
control_unseal(struct control *ctl, const char *session, const char *what,
    const char *sealed, json_t **out, struct err *e)
{
	auto_free char *owner = xasprintf("%s:%s", session, what);
	auto_buf struct buf plain = { 0 };
	int rc;

	*out = NULL;
	if (sealed[0] == '\0')
		return 0;
	if (seal_open(&ctl->keys, owner, sealed, &plain, e) < 0)
		return err_wrap(e, "%s", what);
	rc = json_parse(plain.data, plain.len, out, e);
	token_wipe(plain.data, plain.len);
	return rc;
}

int
control_limit_refused(struct err *e)
{
	auto_json json_t *more = NULL;
	struct err ignored;
	char msg[ERR_MSG_MAX];

	if (json_parse(e->more, strlen(e->more), &more, &ignored) < 0)
		return -1;
	str_copy(msg, sizeof(msg), e->msg);
	err_field(e, json_str(more, "limit"), "%s", msg);
	err_below(e, "limits");
	return -1;
}
