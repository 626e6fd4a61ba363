/* launch.c: carries out an intent to start. */
#include "control/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/adopt.h"
#include "control/capacity.h"
#include "control/evidence.h"
#include "control/network_control.h"
#include "control/network_trust.h"
#include "control/outcome.h"
#include "control/setup.h"
#include "control/snapshot_ref.h"
#include "provider/link/link.h"

enum { FILE_MODE = 0644 };

void
launch_release(struct launch *l)
{
	json_decref(l->env);
	json_decref(l->files);
	free(l->more_ports);
	launch_given_release(&l->given);
	if (l->setup != NULL)
		token_wipe(l->setup, strlen(l->setup));
	free(l->setup);
}

/* Reads the ports to expose: URLs from before must work again. */
static void
read_ports(const char *text, struct launch *l)
{
	auto_free char *ports = xstrdup(text);
	char *save = NULL;

	l->more_ports = xcalloc(strlen(text), sizeof(*l->more_ports));
	for (char *p = strtok_r(ports, ",", &save); p != NULL;
	     p = strtok_r(NULL, ",", &save)) {
		int64_t port = strtoll(p, NULL, 10);

		if (l->agent.port_count < AGENT_PORTS_MAX)
			l->agent.ports[l->agent.port_count++] = port;
		else
			l->more_ports[l->more_count++] = port;
	}
}

static int
read_setup(struct control *ctl, const struct rows *plan, struct launch *l,
    struct err *e)
{
	auto_json json_t *setup = NULL;

	if (control_unseal(ctl, l->target.session, "setup",
		rows_text(plan, 0, "setup_sealed"), &setup, e) < 0)
		return -1;
	if (setup == NULL)
		return 0;
	l->setup = xstrdup(json_str(setup, "command"));
	l->setup_seconds = rows_int(plan, 0, "setup_seconds");
	l->setup_offset = rows_int(plan, 0, "setup_offset");
	return 0;
}

int
launch_read(struct control *ctl, const struct rows *plan, struct launch *l,
    struct err *e)
{
	*l = (struct launch){ 0 };
	control_spec(plan, 0, &l->sandbox);
	l->cell = l->sandbox;
	l->cell.memory_mb = rows_int(plan, 0, "cell_memory_mb");
	l->cell.disk_mb = rows_int(plan, 0, "cell_disk_mb");
	l->cell.pids = rows_int(plan, 0, "cell_pids");
	l->target = row_target(plan, 0);
	l->first = l->target.generation == 1;
	l->started = rows_bool(plan, 0, "started");
	l->network = !str_equal(rows_text(plan, 0, "network_mode"), "none");
	if (control_unseal(ctl, l->target.session, "env",
		rows_text(plan, 0, "env_sealed"), &l->env, e) < 0 ||
	    control_unseal(ctl, l->target.session, "files",
		rows_text(plan, 0, "files_sealed"), &l->files, e) < 0 ||
	    read_setup(ctl, plan, l, e) < 0)
		return -1;
	read_ports(rows_text(plan, 0, "ports"), l);
	launch_given_read(plan, &l->given);
	snapshot_of(rows_text(plan, 0, "tenant"),
	    rows_text(plan, 0, "snapshot"), &l->from);
	identity_of(rows_text(plan, 0, "org"), rows_text(plan, 0, "user_id"),
	    &l->who);
	l->agent.env = l->env;
	l->agent.network = l->network;
	l->agent.intent_ms = ctl->intent_ms;
	l->agent.commits_as = &l->who;
	str_copy(l->name, sizeof(l->name), rows_text(plan, 0, "session_name"));
	str_copy(l->adoption, sizeof(l->adoption),
	    rows_text(plan, 0, "adoption"));
	l->agent.name = l->name;
	l->agent.version = l->version;
	return 0;
}

static int
write_file(struct control *ctl, const struct launch *l, const json_t *f,
    int64_t deadline_ms, struct err *e)
{
	const char *b64 = json_str(f, "contentBase64");
	const json_t *text = json_object_get(f, "content");
	const json_t *given = json_object_get(f, "mode");
	int64_t mode = given != NULL ? json_integer_value(given) : FILE_MODE;
	auto_buf struct buf bytes = { 0 };

	if (text != NULL)
		return agent_write(&ctl->provider, &l->target,
		    json_str(f, "path"), mode, json_string_value(text),
		    json_string_length(text), deadline_ms, e);
	if (!token_base64(b64, &bytes))
		return err_field(e, "files", "contentBase64 is not base64");
	return agent_write(&ctl->provider, &l->target, json_str(f, "path"),
	    mode, bytes.data, bytes.len, deadline_ms, e);
}

int
launch_write_files(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, struct err *e)
{
	size_t i;
	json_t *f;

	json_array_foreach(l->files, i, f)
	{
		char field[ERR_FIELD_MAX];
		struct err why = { 0 };

		if (write_file(ctl, l, f, deadline_ms, &why) == 0)
			continue;
		*e = why;
		if (why.kind != ERR_INVALID)
			return err_wrap(e, "writing %s", json_str(f, "path"));
		/* a file of its snapshot is in the way */
		snprintf(field, sizeof(field), "files[%zu].path", i);
		return err_field(e, field, "%s", why.msg);
	}
	return 0;
}

/*
 * Whether a session whose snapshot has lost its files may start without them,
 * because its create allowed that.  Its row records that it did.
 */
static bool
may_start_empty(struct control *ctl, const struct launch *l,
    const struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;
	struct err why = { 0 };

	if (e->code != CODE_SNAPSHOT_LOST)
		return false;
	spec = control_spec_text(json_pack("{s:s, s:s, s:s*}", "snapshot",
	    l->from.id, "trace", ctl->trace, "actor", control_actor(ctl)));
	if (STORE_RUN(ctl->store, STMT_SESSION_FELL_BACK, &r, &why,
		l->target.session, "the snapshot's files are gone", spec) < 0) {
		log_err(LOG_WARN, "session_fell_back", &why);
		return false;
	}
	return rows_bool(r, 0, "applied");
}

/*
 * Makes the workspace, or finds it.  Once a start of the session has been
 * proved, its files must be there.
 */
static int
have_storage(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	const struct provider_ops *ops = ctl->provider.ops;
	bool there = true;

	if (!l->first &&
	    ops->storage_exists(&ctl->provider, l->sandbox.id,
		l->target.session, &there, e) < 0)
		return -1;
	if (!there && l->started)
		return err_set(e, ERR_GONE, CODE_STORAGE_GONE,
		    "the session's files are gone");
	/*
	 * The member of the warm pool that it claimed has died.  If the database
	 * has lost an earlier claim of it, the files are another tenant's.
	 */
	if (!l->first && there && l->adoption[0] != '\0' && !l->started) {
		if (ops->storage_drop(&ctl->provider, l->sandbox.id,
			l->target.session, e) < 0)
			return -1;
		there = false;
	}
	l->cold = l->first || !there;
	if (l->cold && l->from.id[0] != '\0' &&
	    ops->storage_from(&ctl->provider, l->sandbox.id, l->target.session,
		&l->from, deadline_ms, e) < 0) {
		if (e->code == CODE_SNAPSHOT_LOST)
			snapshot_missed(ctl, &l->from);
		if (!may_start_empty(ctl, l, e))
			return -1;
		*e = (struct err){ 0 };
		l->from.id[0] = '\0';
	}
	return ops->storage_make(&ctl->provider, l->sandbox.id,
	    l->target.session, e);
}

/*
 * The session's history has it, too: the owner may wonder about its behaviour.
 */
static void
note_unknown_version(struct control *ctl, const struct launch *l)
{
	struct err e = { 0 };
	char generation[24];

	log_line(LOG_WARN, "agent_version",
	    "sandbox %s runs an agent that does not tell its version, this is %s: put its sessions to sleep and resume them to get the new one",
	    l->sandbox.id, PACKAGE_VERSION);
	snprintf(generation, sizeof(generation), "%" PRId64,
	    l->target.generation);
	if (STORE_RUN(ctl->store, STMT_EVENT_ONCE, NULL, &e, l->target.session,
		"agent", "version_unknown", generation, ctl->trace, "{}") < 0)
		log_err(LOG_WARN, "event", &e);
}

/*
 * Warns if the version of the agent differs or is not known; the start goes on.
 */
static void
compare_version(struct control *ctl, const struct launch *l)
{
	if (str_equal(l->version, PACKAGE_VERSION))
		return;
	if (l->version[0] == '\0') {
		note_unknown_version(ctl, l);
		return;
	}
	log_line(LOG_WARN, "agent_version",
	    "sandbox %s runs agent %s, this is %s: put its sessions to sleep and resume them to get the new one",
	    l->sandbox.id, l->version, PACKAGE_VERSION);
}

/* Exposes the ports for which the launch message had no room. */
static int
expose_more(struct control *ctl, const struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	for (size_t i = 0; i < l->more_count; i++)
		if (agent_expose(&ctl->provider, &l->target, l->more_ports[i],
			0, deadline_ms, e) < 0)
			return err_wrap(e, "port %lld",
			    (long long)l->more_ports[i]);
	return 0;
}

/*
 * Looks for room.  A session that was ready once may always come back to its
 * files.  Until then they may be left from a first start that died before it
 * was admitted.
 */
static int
launch_admit(struct control *ctl, const struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	if (l->started)
		return 0;
	return capacity_admit(ctl, l->sandbox.id, l->target.session,
	    deadline_ms, e);
}

static const char *
workspace_how(const struct launch *l)
{
	if (!l->cold)
		return "kept";
	return l->from.id[0] != '\0' ? "copied" : "made";
}

/*
 * Begins a step, and notes whether it has time enough to be judged by its end.
 */
static void
enter_step(struct launch *l, const char *step, const char *how,
    int64_t deadline_ms)
{
	steps_enter(&l->steps, step, how);
	l->hurried = clock_left_ms(deadline_ms) < LAUNCH_FAIR_MS;
}

int
launch_network(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	struct session_row s = { .generation = l->target.generation };

	if (!l->network)
		return 0;
	str_copy(s.id, sizeof(s.id), l->target.session);
	enter_step(l, "network", "attached", deadline_ms);
	if (network_follow(ctl, &s, deadline_ms, e) < 0 ||
	    network_trust(ctl, &l->target, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("launch.network");
	l->given.network = true;
	return 0;
}

/* Storage, sandbox and wrapper are there already; the wrapper is told whose. */
static int
bring_up_warm(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	enter_step(l, "workspace", "warm", deadline_ms);
	enter_step(l, "sandbox", "warm", deadline_ms);
	enter_step(l, "admission", "admitted", deadline_ms);
	if (launch_admit(ctl, l, deadline_ms, e) < 0)
		return -1;
	enter_step(l, "wrapper", "adopted", deadline_ms);
	return adopt_wrapper(ctl, l, deadline_ms, e);
}

static int
bring_up_cold(struct control *ctl, const struct rows *plan, struct launch *l,
    int64_t deadline_ms, struct err *e)
{
	const struct provider *p = &ctl->provider;
	bool creating = state_sandbox_parse(rows_text(plan, 0,
			    "sandbox_state")) == SANDBOX_CREATING;

	enter_step(l, "workspace", NULL, deadline_ms);
	if (have_storage(ctl, l, deadline_ms, e) < 0)
		return -1;
	steps_tell(&l->steps, workspace_how(l));
	CRASH_POINT("launch.storage");
	enter_step(l, "sandbox", creating ? "started" : "reused", deadline_ms);
	if (creating && p->ops->ensure(p, &l->sandbox, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("launch.sandbox");
	enter_step(l, "admission", "admitted", deadline_ms);
	if (launch_admit(ctl, l, deadline_ms, e) < 0)
		return -1;
	enter_step(l, "wrapper", "launched", deadline_ms);
	if (agent_launch(p, &l->cell, &l->target, &l->agent, deadline_ms, e) <
	    0)
		return -1;
	CRASH_POINT("launch.wrapper");
	return 0;
}

int
launch_bring_up(struct control *ctl, const struct rows *plan, struct launch *l,
    int64_t deadline_ms, struct err *e)
{
	int rc = adopt_is_due(l) ? bring_up_warm(ctl, l, deadline_ms, e)
				 : bring_up_cold(ctl, plan, l, deadline_ms, e);

	if (rc < 0 || launch_write_files(ctl, l, deadline_ms, e) < 0 ||
	    expose_more(ctl, l, deadline_ms, e) < 0)
		return -1;
	compare_version(ctl, l);
	CRASH_POINT("launch.files_written");
	return launch_network(ctl, l, deadline_ms, e);
}

/* Runs a command in the wrapper; the last step. */
static int
prove(struct control *ctl, struct launch *l, int64_t deadline_ms, struct err *e)
{
	enter_step(l, "ready", "proved", deadline_ms);
	if (!l->proved &&
	    agent_prove(&ctl->provider, &l->target, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("launch.proved");
	steps_end(&l->steps);
	return 0;
}

int
launch_complete(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	if (l->setup != NULL) {
		steps_enter(&l->steps, "setup", "run");
		if (setup_run(ctl, l, deadline_ms, e) < 0)
			return -1;
	}
	if (prove(ctl, l, deadline_ms, e) < 0)
		return -1;
	return outcome_verified(ctl, l, e);
}

/*
 * Acts on the plan under the sandbox's lock.  The setup runs without the lock,
 * because it may take minutes and other sessions share the sandbox.
 */
static int
act_on_plan(struct control *ctl, const struct rows *plan, bool alone,
    bool locked, int64_t deadline_ms, struct err *e)
{
	auto_launch struct launch l = { 0 };
	const char *sandbox = rows_text(plan, 0, "sandbox_id");
	bool condemned;
	int rc;

	if (!alone && control_lock(ctl, sandbox, e) < 0)
		return -1;
	CRASH_POINT("start.locked");
	rc = launch_read(ctl, plan, &l, e);
	l.locked = locked;
	if (rc == 0)
		rc = launch_bring_up(ctl, plan, &l, deadline_ms, e);
	if (rc == 0 && l.setup == NULL)
		rc = launch_complete(ctl, &l, deadline_ms, e);
	condemned = rc < 0 && evidence_weigh(ctl, &l, e);
	CRASH_POINT("start.acted");
	if (!alone)
		control_unlock(ctl, sandbox);
	if (rc == 0 && l.setup != NULL) {
		/* now, so that they come before the setup's first output */
		steps_end(&l.steps);
		outcome_note_steps(ctl, &l, NULL);
		l.steps = (struct steps){ 0 };
		rc = launch_complete(ctl, &l, deadline_ms, e);
	}
	return rc == 0 ? 0 : outcome_failed(ctl, &l, condemned, e);
}

void
launch_unlock(struct control *ctl, const char *session)
{
	struct err e = { 0 };

	/* on a failure the connection is gone, and the lock with it */
	if (STORE_RUN(ctl->store, STMT_START_UNLOCK, NULL, &e, session) < 0)
		log_err(LOG_WARN, "start_unlock", &e);
}

/* Answers a client that does not wait; then the start has the usual time. */
static void
answer_first(struct control *ctl, const char *session, int64_t *deadline_ms)
{
	ctl->answer(ctl->answer_ctx, session);
	ctl->answer = NULL; /* never answer twice */
	ctl->try_setup = true;
	*deadline_ms = ctl->go_on_ms;
}

int
launch_act(struct control *ctl, const struct rows *plan, bool alone,
    int64_t deadline_ms, struct err *e)
{
	bool locked = rows_bool(plan, 0, "start_lock");
	int rc;

	if (ctl->answer != NULL) {
		answer_first(ctl, rows_text(plan, 0, "session_id"),
		    &deadline_ms);
		alone = false; /* the client knows the session's id */
	}
	rc = act_on_plan(ctl, plan, alone, locked, deadline_ms, e);
	if (rc < 0 && locked)
		launch_unlock(ctl, rows_text(plan, 0, "session_id"));
	return rc;
}
