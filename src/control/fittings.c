/* fittings.c: environment and ports of a wrapper, as the rows want them. */
#include "control/fittings.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

enum { TELL_MS = 2000, ROUNDS = 4 };

void
fittings_read(const struct rows *r, struct fittings *f)
{
	fittings_release(f);
	f->env_sealed = xstrdup(rows_text(r, 0, "env_sealed"));
	f->ports = xstrdup(rows_text(r, 0, "ports"));
}

void
fittings_release(struct fittings *f)
{
	free(f->env_sealed);
	free(f->ports);
	*f = (struct fittings){ 0 };
}

void
fittings_forget(struct fittings *f)
{
	fittings_release(f);
	f->env_sealed = xstrdup("");
	f->ports = xstrdup("");
}

static int
bring_env(struct control *ctl, const struct agent_target *t, const char *sealed,
    struct err *e)
{
	auto_json json_t *env = NULL;

	if (control_unseal(ctl, t->session, "env", sealed, &env, e) < 0)
		return -1;
	if (env == NULL)
		env = json_object();
	return agent_env(&ctl->provider, t, env, true, clock_ms() + TELL_MS, e);
}

/* Whether a list of ports has this one. */
static bool
lists(const char *ports, const char *port)
{
	size_t len = strlen(port);

	for (const char *p = ports; *p != '\0'; p += strcspn(p, ",")) {
		p += *p == ',';
		if (strncmp(p, port, len) == 0 &&
		    (p[len] == ',' || p[len] == '\0'))
			return true;
	}
	return false;
}

typedef int tell_fn(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t deadline_ms, struct err *e);

/* Tells of the ports in `of` that are not in `but`. */
static int
tell_ports(struct control *ctl, const struct agent_target *t, tell_fn *tell,
    const char *of, const char *but, struct err *e)
{
	auto_free char *list = xstrdup(of);
	char *save = NULL;

	for (char *p = strtok_r(list, ",", &save); p != NULL;
	     p = strtok_r(NULL, ",", &save))
		if (!lists(but, p) &&
		    tell(&ctl->provider, t, strtoll(p, NULL, 10),
			clock_ms() + TELL_MS, e) < 0)
			return err_wrap(e, "port %s", p);
	return 0;
}

static void
bring(struct control *ctl, const struct agent_target *t,
    const struct fittings *had, const struct fittings *wanted)
{
	struct err e = { 0 };

	/* sealing is never the same twice, so equal is unchanged */
	if (!str_equal(had->env_sealed, wanted->env_sealed) &&
	    bring_env(ctl, t, wanted->env_sealed, &e) < 0)
		log_err(LOG_WARN, "fittings_env", &e);
	if (tell_ports(ctl, t, agent_unexpose, had->ports, wanted->ports, &e) <
		0 ||
	    tell_ports(ctl, t, agent_expose, wanted->ports, had->ports, &e) < 0)
		log_err(LOG_WARN, "fittings_ports", &e);
}

static bool
same(const struct fittings *a, const struct fittings *b)
{
	return str_equal(a->env_sealed, b->env_sealed) &&
	    str_equal(a->ports, b->ports);
}

/* What the row has by now, in place of what was read before. */
static int
read_again(struct control *ctl, const char *session, struct fittings *f,
    struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_SESSION_FITTINGS, &r, e, session) < 0)
		return -1;
	fittings_read(r, f);
	return 0;
}

/*
 * Somebody may have changed the row and told the wrapper before we told it what
 * we had read: so it is read once more until it is what the wrapper has.
 */
void
fittings_bring(struct control *ctl, const struct agent_target *t,
    const struct fittings *given, const struct rows *now)
{
	struct fittings had = { 0 }, wanted = { 0 };
	struct err e = { 0 };

	CRASH_POINT("fittings.bring");
	if (given->ports == NULL)
		return;
	had = (struct fittings){ xstrdup(given->env_sealed),
		xstrdup(given->ports) };
	fittings_read(now, &wanted);
	for (int i = 0; i < ROUNDS && !same(&had, &wanted); i++) {
		bring(ctl, t, &had, &wanted);
		fittings_release(&had);
		had = wanted;
		wanted = (struct fittings){ 0 };
		if (read_again(ctl, t->session, &wanted, &e) < 0) {
			log_err(LOG_WARN, "fittings", &e);
			break;
		}
	}
	fittings_release(&had);
	fittings_release(&wanted);
}
