/* setup.c: runs a session's setup. */
#include "control/setup.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/link.h"

enum { LISTEN_MS = 5000, ANSWER_MS = 2000, TIMED_OUT = 124 };

int
setup_has_begun(struct control *ctl, const struct launch *l,
    int64_t deadline_ms, bool *begun, struct err *e)
{
	struct agent_setup s = { 0 };
	int rc = agent_setup(&ctl->provider, &l->target, &s, deadline_ms, e);

	*begun = s.begun;
	free(s.output);
	return rc;
}

/* Records the output from `from` on, unless another process has done so. */
static int
record_output(struct control *ctl, const struct launch *l, int64_t from,
    const struct agent_setup *s, struct err *e)
{
	auto_free char *spec =
	    control_spec_text(json_pack("{s:I, s:I, s:I, s:s, s:s, s:s*}",
		"generation", (json_int_t)l->target.generation, "from",
		(json_int_t)from, "to", (json_int_t)s->offset, "text",
		s->output, "trace", ctl->trace, "actor", control_actor(ctl)));

	return STORE_RUN(ctl->store, STMT_SETUP_SAID, NULL, e,
	    l->target.session, spec);
}

/* Says why the wrapper did not answer: the session may have been stopped. */
static int
explain_silence(struct control *ctl, const struct launch *l, struct err *e)
{
	struct session_row s;
	struct err ignored = { 0 };

	if (control_session(ctl, l->target.session, "", &s, &ignored) < 0 ||
	    (s.state == SESSION_INITIALIZING && s.lease == LEASE_OWNS_WRAPPER &&
		s.generation == l->target.generation))
		return err_wrap(e, "setup");
	return err_set(e, ERR_CONFLICT, CODE_SETUP_STOPPED,
	    "the session was stopped while it was set up");
}

static int
record_end(struct control *ctl, const struct launch *l,
    const struct agent_setup *s, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec =
	    control_spec_text(json_pack("{s:I, s:I, s:I, s:I, s:s, s:s, s:s*}",
		"generation", (json_int_t)l->target.generation, "exitCode",
		(json_int_t)s->exit_code, "ms", (json_int_t)s->took_ms, "bytes",
		(json_int_t)s->bytes, "text", s->output, "trace", ctl->trace,
		"actor", control_actor(ctl)));

	if (STORE_RUN(ctl->store, STMT_SETUP_ENDED, &r, e, l->target.session,
		spec) < 0)
		return -1;
	CRASH_POINT("setup.settled");
	if (!rows_bool(r, 0, "applied"))
		return err_set(e, ERR_CONFLICT, CODE_SETUP_STOPPED,
		    "the session was stopped while it was set up");
	if (s->exit_code == 0)
		return 0;
	if (s->exit_code == TIMED_OUT && s->took_ms >= l->setup_seconds * 1000)
		return err_set(e, ERR_CONFLICT, CODE_SETUP_FAILED,
		    "setup was not done after %lld s",
		    (long long)l->setup_seconds);
	return err_set(e, ERR_CONFLICT, CODE_SETUP_FAILED,
	    "setup ended with exit code %lld", (long long)s->exit_code);
}

/* Asks the wrapper once, and records new output. */
static int
ask_once(struct control *ctl, const struct launch *l, struct agent_setup *s,
    int64_t deadline_ms, struct err *e)
{
	int64_t from = s->offset, left = clock_left_ms(deadline_ms);

	int64_t patience_ms;

	s->wait_ms = ctl->try_setup ? 0 : left < LISTEN_MS ? left : LISTEN_MS;
	patience_ms = ctl->try_setup ? left : s->wait_ms + ANSWER_MS;
	if (agent_setup(&ctl->provider, &l->target, s, clock_ms() + patience_ms,
		e) < 0)
		return explain_silence(ctl, l, e);
	CRASH_POINT("setup.heard");
	if (s->done || s->offset == from)
		return 0;
	return record_output(ctl, l, from, s, e);
}

int
setup_run(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	struct agent_setup s = { .command = l->setup,
		.timeout_ms = l->setup_seconds * 1000,
		.offset = l->setup_offset };
	bool more = true;
	int rc = 0;

	while (rc == 0 && !s.done && more) {
		int64_t from = s.offset;

		rc = ask_once(ctl, l, &s, deadline_ms, e);
		more = clock_ms() < deadline_ms &&
		    (s.offset > from || !ctl->try_setup);
	}
	if (rc == 0)
		rc = s.done ? record_end(ctl, l, &s, e)
			    : err_set(e, ERR_BUSY, CODE_SETUP_RUNNING,
				  "the session's setup is running");
	free(s.output);
	return rc;
}
