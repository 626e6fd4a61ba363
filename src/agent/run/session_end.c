/* session_end.c: receives why the host ends this session, and tells clients. */
#include "agent/run/session_end.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "agent/base/lock.h"
#include "common/clock.h"
#include "common/mem.h"

enum { RECEIVE_MS = 1000 }; /* to wait for a busy main thread */

static struct lock lock = LOCK_INIT(LOCK_SESSION_END);
static pthread_cond_t received = PTHREAD_COND_INITIALIZER;
static int source = -1; /* the channel to init */
static int wake_fd = -1;
static bool told;
static struct session_end end;

static const struct {
	const char *reason, *words;
} REASONS[] = {
	{ "session_slept", "The session was put to sleep" },
	{ "session_deleted", "The session was deleted" },
	{ "session_ended", "The session was ended" }, /* any other */
};

static const struct jfield FIELDS[] = {
	JFIELD("reason", struct session_end, reason, J_STR, 0, 0,
	    sizeof(end.reason) - 1, "what happens to the session"),
	JFIELD("cause", struct session_end, cause, J_STR, 0, 0,
	    sizeof(end.cause) - 1, "why"),
	JFIELD("graceMs", struct session_end, grace_ms, J_INT, 0, 0, 60000,
	    "grace period of running commands"),
};

/* ---- from init */

int
session_end_receive(int channel, json_t **msg, struct channel_fds *fds,
    struct err *e)
{
	struct err ignored;
	int rc;

	/* under the lock: other threads find the message, or `told` is set */
	lock_take(&lock);
	source = channel;
	rc = channel_recv(channel, clock_ms(), msg, fds, e);
	if (rc == 0 && str_equal(json_str(*msg, "op"), "ending")) {
		told = true;
		if (jfield_decode(*msg, FIELDS, ARRAY_LEN(FIELDS), J_LENIENT,
			&end, &ignored) < 0)
			end = (struct session_end){ .grace_ms = 0 };
		if (end.reason[0] == '\0')
			str_copy(end.reason, sizeof(end.reason),
			    "session_ended");
		json_release(msg);
	}
	pthread_cond_broadcast(&received);
	lock_drop(&lock);
	return rc;
}

int64_t
session_end_grace_ms(void)
{
	return end.grace_ms;
}

int
session_end_open(struct err *e)
{
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return wake_fd < 0 ? err_errno(e, "cannot make an eventfd") : 0;
}

void
session_end_wake(void)
{
	(void)!eventfd_write(wake_fd, 1);
}

/* ---- for other threads */

int
session_end_fd(void)
{
	return wake_fd;
}

static bool
has_message(void)
{
	struct pollfd f = { source, POLLIN, 0 };

	return poll(&f, 1, 0) == 1 && (f.revents & POLLIN) != 0;
}

bool
session_end_told(struct session_end *out)
{
	int64_t until_ms = clock_ms() + RECEIVE_MS;
	bool is;

	lock_take(&lock);
	while (!told && has_message() &&
	    lock_wait_until(&received, &lock, until_ms))
		;
	is = told;
	*out = end;
	lock_drop(&lock);
	return is;
}

/* Writes the text for the client. */
static void
describe_end(const struct session_end *why, char out[ERR_MSG_MAX])
{
	size_t i = 0;

	while (i < ARRAY_LEN(REASONS) - 1 &&
	    !str_equal(REASONS[i].reason, why->reason))
		i++;
	snprintf(out, ERR_MSG_MAX, "%s; its running commands were ended%s%s%s",
	    REASONS[i].words, why->cause[0] != '\0' ? " (" : "", why->cause,
	    why->cause[0] != '\0' ? ")" : "");
}

bool
session_end_explain(struct err *e)
{
	auto_json json_t *more = NULL;
	auto_free char *text = NULL;
	struct session_end why;
	char words[ERR_MSG_MAX];

	if (!session_end_told(&why))
		return false;
	describe_end(&why, words);
	err_set(e, ERR_GONE, CODE_SESSION_TERMINATED, "%s", words);
	more =
	    json_pack("{s:s, s:s}", "reason", why.reason, "cause", why.cause);
	text = json_text(more);
	str_copy(e->more, sizeof(e->more), text);
	return true;
}

bool
session_end_event(struct buf *to, json_t *more)
{
	const char *code = code_capitals(CODE_SESSION_TERMINATED);
	auto_json json_t *event = NULL;
	auto_free char *text = NULL;
	struct session_end why;
	char words[ERR_MSG_MAX], at[CLOCK_ISO_MAX];

	if (!session_end_told(&why))
		return false;
	describe_end(&why, words);
	clock_iso(at);
	event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:[], s:s, s:s, s:s}",
	    "type", "error", "error", words, "data", words, "code", code,
	    "ename", code, "evalue", words, "traceback", "timestamp", at,
	    "reason", why.reason, "cause", why.cause);
	if (more != NULL)
		json_object_update_missing(event, more);
	text = json_text(event);
	buf_fmt(to, "data: %s\n\n", text);
	return true;
}
