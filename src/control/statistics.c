/* statistics.c: measures what sessions and sandboxes use, and keeps samples. */
#include "control/statistics.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/provider.h"

enum {
	ASK_MS = 1000,  /* for a host that must ask the agent */
	BOX_BATCH = 50, /* sandboxes that are measured for one statement */
	THIN_BATCH = 500,
	US_PER_MS = 1000,
	NUMBER_MAX = 24,
	AT_MAX = 64
};

/* ---- measuring */

static json_t *
known(int64_t n, int64_t part)
{
	return n < 0 ? json_null() : json_integer(n / part);
}

/* NULL: nothing runs. */
static json_t *
usage_json(const struct usage *u)
{
	if (!u->running)
		return NULL;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cpuMs",
	    known(u->cpu_us, US_PER_MS), "cpuUserMs",
	    known(u->cpu_user_us, US_PER_MS), "cpuSystemMs",
	    known(u->cpu_sys_us, US_PER_MS), "memoryBytes",
	    known(u->memory_bytes, 1), "memoryPeakBytes",
	    known(u->memory_peak_bytes, 1), "processes", known(u->processes, 1),
	    "threads", known(u->threads, 1));
}

static int
measure(struct control *ctl, const struct agent_target *t, struct usage *out,
    struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->usage(p, t, clock_ms() + ASK_MS, out, e);
}

/* The numbers as text for a statement; NULL: nothing runs. */
static int
measure_text(struct control *ctl, const struct agent_target *t, char **out,
    struct err *e)
{
	auto_json json_t *now = NULL;
	struct usage u;

	*out = NULL;
	if (measure(ctl, t, &u, e) < 0)
		return -1;
	now = usage_json(&u);
	if (now != NULL)
		*out = json_text(now);
	return 0;
}

static bool
may_run(enum sandbox_state s)
{
	return s != SANDBOX_ABSENT && s != SANDBOX_STOPPED;
}

int
statistics_session(struct control *ctl, const char *id, const char *tenant,
    json_t **out, struct err *e)
{
	auto_free char *own = NULL, *box = NULL;
	auto_rows struct rows *r = NULL;
	struct agent_target t;
	struct session_row s;

	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (may_run(s.sandbox_state)) {
		if (control_must_be_here(ctl, &s, e) < 0)
			return -1;
		t = control_target(&s);
		if (s.lease != LEASE_NONE && measure_text(ctl, &t, &own, e) < 0)
			return -1;
		t.session[0] = '\0';
		if (measure_text(ctl, &t, &box, e) < 0)
			return -1;
	}
	if (STORE_RUN(ctl->store, STMT_SESSION_STATISTICS, &r, e, id, own,
		box) < 0)
		return -1;
	return rows_json(r, 0, "json", out, e);
}

int
statistics_sandbox(struct control *ctl, const char *id, const char *tenant,
    json_t **out, struct err *e)
{
	auto_rows struct rows *found = NULL, *r = NULL;
	auto_free char *now = NULL;
	struct agent_target t = { 0 };
	const char *host;

	if (STORE_RUN(ctl->store, STMT_SANDBOX_LOOK, &found, e, id, tenant) < 0)
		return -1;
	if (rows_count(found) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SANDBOX_NOT_FOUND,
		    "there is no such sandbox");
	host = rows_text(found, 0, "host");
	str_copy(t.sandbox, sizeof(t.sandbox), id);
	str_copy(t.incarnation, sizeof(t.incarnation),
	    rows_text(found, 0, "incarnation"));
	if (may_run(state_sandbox_parse(rows_text(found, 0, "state")))) {
		if (!str_equal(host, ctl->conf->host_name))
			return control_other_host(host, e);
		if (measure_text(ctl, &t, &now, e) < 0)
			return -1;
	}
	if (STORE_RUN(ctl->store, STMT_SANDBOX_STATISTICS, &r, e, id, now) < 0)
		return -1;
	return rows_json(r, 0, "json", out, e);
}

/* ---- samples */

/* A sandbox that did not answer is not asked for its sessions, too. */
struct silence {
	char sandbox[SANDBOX_ID_MAX];
};

static void
add_sample(struct control *ctl, const struct agent_target *t,
    struct silence *mute, json_t *list)
{
	struct err e = { 0 };
	struct usage u;
	json_t *one;

	if (str_equal(mute->sandbox, t->sandbox))
		return;
	if (measure(ctl, t, &u, &e) < 0) {
		str_copy(mute->sandbox, sizeof(mute->sandbox), t->sandbox);
		log_err(LOG_INFO, "sample", &e);
		return;
	}
	one = usage_json(&u);
	if (one == NULL)
		return;
	json_object_set_new(one, "sandbox", json_string(t->sandbox));
	json_object_set_new(one, "session",
	    t->session[0] != '\0' ? json_string(t->session) : json_null());
	json_object_set_new(one, "life",
	    t->session[0] != '\0' ? json_sprintf("%" PRId64, t->generation)
				  : json_string(t->incarnation));
	json_array_append_new(list, one);
}

static int
add_samples(struct control *ctl, const struct rows *r, int64_t deadline_ms,
    const char *seconds, struct err *e)
{
	auto_json json_t *list = json_array();
	auto_free char *text = NULL;
	struct silence mute = { 0 };

	for (size_t i = 0; i < rows_count(r) && clock_left_ms(deadline_ms) > 0;
	     i++) {
		const struct agent_target t = row_target(r, i);

		add_sample(ctl, &t, &mute, list);
	}
	if (json_array_size(list) == 0)
		return 0;
	text = json_text(list);
	return STORE_RUN(ctl->store, STMT_SAMPLE_ADD, NULL, e,
	    ctl->conf->host_name, seconds, text);
}

int
statistics_sample(struct control *ctl, int64_t deadline_ms, struct err *e)
{
	char at[AT_MAX] = "-infinity", after[SANDBOX_ID_MAX] = "";
	char seconds[NUMBER_MAX], batch[NUMBER_MAX];
	size_t n = 1;

	if (ctl->conf->sample_seconds == 0)
		return 0;
	snprintf(seconds, sizeof(seconds), "%" PRId64,
	    ctl->conf->sample_seconds);
	snprintf(batch, sizeof(batch), "%d", BOX_BATCH);
	while (n > 0 && clock_left_ms(deadline_ms) > 0) {
		auto_rows struct rows *r = NULL;

		if (STORE_RUN(ctl->store, STMT_SAMPLES_DUE, &r, e,
			ctl->conf->host_name, seconds, at, after, batch) < 0 ||
		    add_samples(ctl, r, deadline_ms, seconds, e) < 0)
			return -1;
		n = rows_count(r);
		if (n > 0) {
			str_copy(at, sizeof(at), rows_text(r, n - 1, "at"));
			str_copy(after, sizeof(after),
			    rows_text(r, n - 1, "sandbox_id"));
		}
	}
	return 0;
}

int
statistics_thin(struct control *ctl, int64_t deadline_ms, struct err *e)
{
	char batch[NUMBER_MAX];
	int64_t done = 1;

	snprintf(batch, sizeof(batch), "%d", THIN_BATCH);
	while (done > 0 && clock_left_ms(deadline_ms) > 0) {
		auto_rows struct rows *r = NULL;

		if (STORE_RUN(ctl->store, STMT_SAMPLE_THIN, &r, e, batch) < 0)
			return -1;
		done = rows_int(r, 0, "done");
	}
	return 0;
}
