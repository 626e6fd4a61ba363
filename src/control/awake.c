/* awake.c: asks the wrapper of a session whether the session is in use. */
#include "control/awake.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/link.h"

enum { ASK_MS = 500, NUMBER_MAX = 24 };

bool
awake_is_unknown(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_TIMED_OUT,
	    CODE_WRAPPER_UNRESPONSIVE, CODE_BUSY);
}

static void
ask_agents(struct control *ctl, enum agent_op op, int64_t wait_ms,
    struct awake_question *const *who, size_t count)
{
	auto_free struct agent_one *ones = xcalloc(count + 1, sizeof(*ones));
	auto_free struct agent_one **all = xcalloc(count + 1, sizeof(*all));

	for (size_t i = 0; i < count; i++) {
		ones[i].target = who[i]->target;
		all[i] = &ones[i];
	}
	agent_ask_all(&ctl->provider, op, 0, clock_ms() + wait_ms, all, count);
	for (size_t i = 0; i < count; i++) {
		who[i]->answered = ones[i].answered;
		who[i]->e = ones[i].e;
		who[i]->status = ones[i].status;
	}
}

void
awake_ask_all(struct control *ctl, struct awake_question *const *who,
    size_t count)
{
	ask_agents(ctl, AGENT_STATUS, ASK_MS, who, count);
}

void
awake_ask_usage(struct control *ctl, int64_t wait_ms,
    struct awake_question *const *who, size_t count)
{
	ask_agents(ctl, AGENT_USAGE, wait_ms, who, count);
}

void
awake_ask_init(struct control *ctl, int64_t wait_ms,
    struct awake_question *const *who, size_t count)
{
	ask_agents(ctl, AGENT_LOOK, wait_ms, who, count);
}

int
awake_ask(struct control *ctl, const struct session_row *s,
    struct agent_status *out, struct err *e)
{
	const struct agent_target t = control_target(s);

	*out = (struct agent_status){ .relay_idle_ms = -1 };
	if (s->state != SESSION_READY && s->state != SESSION_INITIALIZING)
		return 0;
	if (control_must_be_here(ctl, s, e) < 0)
		return -1;
	if (agent_status(&ctl->provider, &t, clock_ms() + ASK_MS, out, e) ==
	    0) {
		out->answered = true;
		return 0;
	}
	if (awake_is_unknown(e))
		return -1;
	return 0; /* no wrapper, so no work */
}

int
awake_was_active(struct control *ctl, const char *session, int64_t generation,
    int64_t idle_ms, bool *spared, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char number[NUMBER_MAX], idle[NUMBER_MAX], slack[NUMBER_MAX];

	snprintf(number, sizeof(number), "%" PRId64, generation);
	snprintf(idle, sizeof(idle), "%" PRId64, idle_ms);
	snprintf(slack, sizeof(slack), "%" PRId64,
	    ctl->conf->activity_write_seconds);
	if (STORE_RUN(ctl->store, STMT_SESSION_WAS_ACTIVE, &r, e, session,
		number, idle, slack) < 0)
		return -1;
	*spared = rows_bool(r, 0, "spared");
	return 0;
}

void
awake_explain(const struct agent_status *st, int64_t sleep_after_seconds,
    json_t *alive)
{
	json_t *because = json_object_get(alive, "because");

	if (st->busy)
		json_array_append_new(because, json_string("busy"));
	if (st->streams > 0)
		json_array_append_new(because, json_string("open_stream"));
	if (st->relay_idle_ms >= 0 &&
	    st->relay_idle_ms < sleep_after_seconds * 1000)
		json_array_append_new(because, json_string("preview_traffic"));
}
