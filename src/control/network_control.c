/* network_control.c: asks sandlease-egress to serve a session. */
#include "control/network_control.h"

#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/network_trust.h"

enum {
	FROZEN_MS = 100,
	RETRY_MS = 100,
	CHANGE_MS = 2000,
	RESTART_MS = 5000,
	ATTACH_TRIES = 5
};

static int
unavailable(struct err *e)
{
	return err_set(e, ERR_UNAVAILABLE, CODE_EGRESS_UNAVAILABLE,
	    "sandlease-egress does not answer; the operator must start it");
}

static int
connect_egress(const struct control *ctl, struct err *e)
{
	auto_free char *path = xasprintf("%s/egress.sock", ctl->conf->run_dir);

	return channel_connect(path, e);
}

/*
 * Connects before the deadline, or returns -1.  The program may be restarting,
 * which takes less than RESTART_MS.
 * It is polled for: no event tells that another process begins to listen.
 */
static int
wait_for_egress(const struct control *ctl, int64_t deadline_ms, struct err *e)
{
	int64_t patience_ms = clock_ms() + RESTART_MS;
	int sock;

	if (patience_ms < deadline_ms)
		deadline_ms = patience_ms;
	while ((sock = connect_egress(ctl, e)) < 0) {
		if (clock_left_ms(deadline_ms) <= RETRY_MS)
			return unavailable(e);
		usleep(RETRY_MS * 1000);
	}
	return sock;
}

/*
 * Sends the request and reads the answer.  Each failure has the one code: that
 * of a channel would be taken for one of the sandbox.  `again` may be NULL; true:
 * another attempt may succeed.
 */
static int
attach(int sock, const struct session_row *s, int64_t deadline_ms, bool *again,
    struct err *e)
{
	auto_json json_t *msg = json_pack("{s:s, s:s, s:I}", "op", "attach",
	    "session", s->id, "generation", (json_int_t)s->generation);
	auto_json json_t *answer = NULL;
	auto_fds struct channel_fds fds = { 0 };
	const char *why;

	if (channel_send(sock, msg, NULL, 0, e) < 0 ||
	    channel_recv(sock, deadline_ms, &answer, &fds, e) < 0)
		return unavailable(e);
	if (json_is_true(json_object_get(answer, "ok")))
		return 0;
	if (again != NULL)
		*again = json_is_true(json_object_get(answer, "again"));
	why = json_str(answer, "message");
	return err_set(e, ERR_UNAVAILABLE, CODE_EGRESS_UNAVAILABLE,
	    "sandlease-egress does not serve the session: %s",
	    why[0] != '\0' ? why : "it did not say why");
}

int
network_ready(struct control *ctl, int64_t deadline_ms, struct err *e)
{
	auto_fd int sock = wait_for_egress(ctl, deadline_ms, e);

	return sock < 0 ? -1 : 0;
}

int
network_follow(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e)
{
	for (int left = ATTACH_TRIES;; left--) {
		auto_fd int sock = wait_for_egress(ctl, deadline_ms, e);
		bool again = false;

		if (sock < 0)
			return -1;
		if (attach(sock, s, deadline_ms, &again, e) == 0)
			return 0;
		if (!again || left == 1 ||
		    clock_left_ms(deadline_ms) <= RETRY_MS)
			return -1;
		usleep(RETRY_MS * 1000);
	}
}

int
network_change(struct control *ctl, const char *session, struct err *e)
{
	auto_fd int sock = -1;
	struct session_row s;
	struct agent_target t;
	struct err why = { 0 };

	CRASH_POINT("network.intent");
	if (control_session(ctl, session, "", &s, e) < 0)
		return -1;
	if (!control_is_here(ctl, &s) ||
	    (s.state != SESSION_INITIALIZING && !control_takes_messages(&s)))
		return 0;
	sock = connect_egress(ctl, &why);
	if (sock < 0)
		return why.code == CODE_NOT_LISTENING ? 0 : unavailable(e);
	t = control_target(&s);
	if (attach(sock, &s, clock_ms() + CHANGE_MS, NULL, &why) == 0 &&
	    (network_trust(ctl, &t,
		 clock_ms() + (s.suspended ? FROZEN_MS : CHANGE_MS),
		 &why) == 0 ||
		/* a suspended wrapper reads the message after its thaw */
		(s.suspended && why.code == CODE_TIMED_OUT)))
		return 0;
	if (s.state == SESSION_READY) {
		*e = why;
		return -1;
	}
	/* its cell may not be there yet: the start attaches it */
	log_err(LOG_INFO, "egress_attach", &why);
	return 0;
}

int
network_refused(struct err *e)
{
	const char *field = e->code == CODE_UNKNOWN_PRESET ? "network.allow"
	    : e->code == CODE_CLASS_WITHOUT_NETWORK        ? "network"
							   : NULL;
	char msg[ERR_MSG_MAX];

	if (field == NULL)
		return -1;
	str_copy(msg, sizeof(msg), e->msg);
	return err_field(e, field, "%s", msg);
}
