/* launch_diff.c: sends a new wrapper what was changed while it started. */
#include "control/launch_diff.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/network_control.h"
#include "control/relay_control.h"
#include "provider/link/link.h"

enum { TELL_MS = 2000, ROUNDS = 4 };

void
launch_given_read(const struct rows *r, struct launch_given *f)
{
	launch_given_release(f);
	f->env_sealed = xstrdup(rows_text(r, 0, "env_sealed"));
}

void
launch_given_release(struct launch_given *f)
{
	free(f->env_sealed);
	*f = (struct launch_given){ 0 };
}

void
launch_given_forget(struct launch_given *f)
{
	launch_given_release(f);
	f->env_sealed = xstrdup("");
	f->unknown = true;
}

static int
send_env(struct control *ctl, const struct agent_target *t, const char *sealed,
    struct err *e)
{
	auto_json json_t *env = NULL;

	if (control_unseal(ctl, t->session, "env", sealed, &env, e) < 0)
		return -1;
	if (env == NULL)
		env = json_object();
	return agent_env(&ctl->provider, t, env, true, clock_ms() + TELL_MS, e);
}

/* Reads the row again and replaces *f. */
static int
reread_row(struct control *ctl, const char *session, struct launch_given *f,
    struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_SESSION_ENV_PORTS, &r, e, session) < 0)
		return -1;
	launch_given_read(r, f);
	return 0;
}

/*
 * Sends the environment until the wrapper has that of the row.  Another worker
 * may have changed the row and sent its change before this worker sent an older
 * one, so the row is read again after each message.  Sealing uses a new nonce
 * each time: equal ciphertext means an unchanged row.
 */
static void
send_changed_env(struct control *ctl, const struct agent_target *t,
    const struct launch_given *given, const struct rows *now)
{
	struct launch_given had = { .env_sealed = xstrdup(given->env_sealed) };
	struct launch_given wanted = { 0 };
	struct err e = { 0 };

	launch_given_read(now, &wanted);
	for (int i = 0;
	     i < ROUNDS && !str_equal(had.env_sealed, wanted.env_sealed); i++) {
		if (send_env(ctl, t, wanted.env_sealed, &e) < 0)
			log_err(LOG_WARN, "launch_diff_env", &e);
		launch_given_release(&had);
		had = wanted;
		wanted = (struct launch_given){ 0 };
		if (reread_row(ctl, t->session, &wanted, &e) < 0) {
			log_err(LOG_WARN, "launch_diff", &e);
			break;
		}
	}
	launch_given_release(&had);
	launch_given_release(&wanted);
}

/* A session that had no network when it was launched may have one by now. */
static void
follow_network(struct control *ctl, const struct agent_target *t,
    const struct launch_given *given, const struct rows *now)
{
	struct err e = { 0 };

	if (given->network ||
	    str_equal(rows_text(now, 0, "network_mode"), "none"))
		return;
	if (network_change(ctl, t->session, &e) < 0)
		log_err(LOG_WARN, "launch_diff_network", &e);
}

void
launch_diff_send(struct control *ctl, const struct agent_target *t,
    const struct launch_given *given, const struct rows *now)
{
	CRASH_POINT("launch_diff.send");
	if (given->env_sealed != NULL) {
		send_changed_env(ctl, t, given, now);
		follow_network(ctl, t, given, now);
	}
	if (rows_bool(now, 0, "has_ports"))
		relay_settle_session(ctl, t->session, given->unknown);
}
