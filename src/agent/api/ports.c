/*
 * ports.c: tries a port once, or until it is ready (POST api/port-check and
 * api/port-watch).
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/process/process.h"
#include "agent/relay/port_probe.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "common/clock.h"
#include "common/mem.h"
#include "web/sse.h"

enum {
	BODY_MAX = 64 * 1024,
	PATH_MAX_BYTES = 2048,
	INTERVAL_MIN_MS = 100,
	INTERVAL_MS = 500,
	INTERVAL_MAX_MS = 10000,
	SOON_MS = 10 /* the shortest pause between two attempts */
};

enum mode { MODE_HTTP, MODE_TCP };
static const char *const MODES[] = { "http", "tcp", NULL };

struct port_body {
	int64_t port;
	int mode;
	char path[PATH_MAX_BYTES];
	int64_t status_min, status_max;
	int64_t interval_ms;
	char process[PROCESS_ID_MAX]; /* its end ends the watch; "": none */
};

/* clang-format off */
static const struct jfield FIELDS[] = {
	JFIELD("port", struct port_body, port, J_INT, J_REQUIRED, 1, 65535, "the port to try"),
	JFIELD_ENUM("mode", struct port_body, mode, 0, MODES, "a request, or only a connection"),
	JFIELD("path", struct port_body, path, J_STR, 0, 0, PATH_MAX_BYTES - 1, "path of the GET request"),
	JFIELD("statusMin", struct port_body, status_min, J_INT, 0, 100, 999, "the lowest status that means ready"),
	JFIELD("statusMax", struct port_body, status_max, J_INT, 0, 100, 999, "the highest status that means ready"),
	JFIELD("interval", struct port_body, interval_ms, J_INT, 0, INT64_MIN, INT64_MAX, "milliseconds between two requests"),
	JFIELD("processId", struct port_body, process, J_STR, 0, 1, PROCESS_ID_MAX - 1, "a process whose end ends the watch"),
};
/* clang-format on */

static int64_t
within(int64_t n, int64_t min, int64_t max)
{
	return n < min ? min : n > max ? max : n;
}

static int
decode_body(struct call *c, struct port_body *b, struct err *e)
{
	auto_json json_t *body = NULL;

	*b = (struct port_body){ .path = "/",
		.status_min = 200,
		.status_max = 399,
		.interval_ms = INTERVAL_MS };
	if (request_body(c, BODY_MAX, &body, e) < 0)
		return -1;
	if (jfield_decode(body, FIELDS, ARRAY_LEN(FIELDS), J_LENIENT, b, e) <
	    0) {
		if (str_equal(e->field, "port"))
			e->code = CODE_INVALID_PORT_NUMBER;
		return -1;
	}
	if (b->status_min > b->status_max)
		return err_field(e, "statusMin", "must not be above statusMax");
	b->interval_ms =
	    within(b->interval_ms, INTERVAL_MIN_MS, INTERVAL_MAX_MS);
	return 0;
}

static struct port_probe
probe_of(const struct port_body *b)
{
	return (struct port_probe){ .port = (int)b->port,
		.http = b->mode == MODE_HTTP,
		.path = b->path,
		.status_min = (int)b->status_min,
		.status_max = (int)b->status_max };
}

static void
add_status(json_t *to, const struct probe_answer *a)
{
	if (a->status != 0)
		json_object_set_new(to, "statusCode", json_integer(a->status));
}

/* ---- once */

int
api_port_check(struct call *c, struct err *e)
{
	auto_json json_t *reply = NULL;
	struct probe_answer a;
	struct port_probe p;
	struct port_body b;

	if (decode_body(c, &b, e) < 0)
		return -1;
	p = probe_of(&b);
	port_probe(&p, &a);
	reply = json_pack("{s:b}", "ready", a.state == PROBE_READY);
	add_status(reply, &a);
	if (a.state != PROBE_READY)
		json_object_set_new(reply, "error", json_string(a.why));
	call_reply(c, 200, reply);
	return 0;
}

/* ---- until the port is ready */

struct port_watch {
	struct call *call;
	struct port_probe probe;
	int64_t interval_ms;
	int64_t began_ms, beat_ms;
	struct process *process; /* held; NULL: none */
	struct child_watch news;
	bool session_ends;
};

static void
send_event(struct port_watch *w, const char *type, const struct probe_answer *a)
{
	auto_json json_t *event =
	    json_pack("{s:s, s:i}", "type", type, "port", w->probe.port);

	if (a != NULL)
		add_status(event, a);
	w->beat_ms = clock_ms();
	sse_event(w->call, event);
}

/*
 * The kernel does not report when a socket begins to listen, so the port is
 * polled.  A refused connection is cheap, so the attempts are frequent at
 * first: a pause is an eighth of the time since the beginning.  A server that
 * answers is not asked more often than the client wants.
 */
static int64_t
pause_ms(const struct port_watch *w, const struct probe_answer *a)
{
	if (a->state != PROBE_CLOSED)
		return w->interval_ms;
	return within((clock_ms() - w->began_ms) / 8, SOON_MS, w->interval_ms);
}

static bool
send_session_end(struct port_watch *w)
{
	return request_session_end(w->call,
	    json_pack("{s:i}", "port", w->probe.port));
}

/* True when the process has ended; then it also sends the last event. */
static bool
has_exited(struct port_watch *w)
{
	auto_json json_t *event = NULL;
	struct process_end now;

	if (w->process == NULL)
		return false;
	now = process_now(w->process);
	if (now.status == PROCESS_RUNNING)
		return false;
	if (send_session_end(w))
		return true;
	event = json_pack("{s:s, s:i, s:i}", "type", "process_exited", "port",
	    w->probe.port, "exitCode", now.exit_code);
	sse_event(w->call, event);
	return true;
}

/*
 * Waits for at most `ms`.  Output or the end of the process, the end of the
 * session and a client that goes end the wait.
 */
static void
wait_for_event(struct port_watch *w, int64_t ms)
{
	struct pollfd p[] = { { call_fd(w->call), POLLRDHUP, 0 },
		{ w->process != NULL ? w->news.fd : -1, POLLIN, 0 },
		{ session_end_fd(), POLLIN, 0 } };
	eventfd_t seen;

	(void)poll(p, ARRAY_LEN(p), (int)ms);
	if (p[0].revents != 0)
		w->call->gone = true;
	if (p[1].revents != 0)
		(void)eventfd_read(w->news.fd, &seen);
	w->session_ends = p[2].revents != 0;
	if (!w->call->gone && clock_ms() - w->beat_ms >= SSE_HEARTBEAT_MS) {
		sse_heartbeat(w->call);
		w->beat_ms = clock_ms();
	}
}

/*
 * Waits for all of `ms`, whatever the process writes meanwhile.  False: the
 * process or the session has ended, or the client has gone.
 */
static bool
wait_for(struct port_watch *w, int64_t ms)
{
	int64_t until_ms = clock_ms() + ms;

	do {
		if (has_exited(w))
			return false;
		wait_for_event(w, clock_left_ms(until_ms));
		if (w->session_ends && send_session_end(w))
			return false;
	} while (!w->call->gone && clock_left_ms(until_ms) > 0);
	return !w->call->gone;
}

static void
follow_port(struct port_watch *w)
{
	struct probe_answer a;

	sse_begin(w->call);
	send_event(w, "watching", NULL);
	do {
		port_probe(&w->probe, &a);
		if (a.state == PROBE_READY) {
			send_event(w, "ready", &a);
			return;
		}
	} while (wait_for(w, pause_ms(w, &a)));
}

static int
watch_process(struct port_watch *w, const char *id, struct err *e)
{
	if (id[0] == '\0')
		return 0;
	request_context(w->call,
	    json_pack("{s:o}", "processId", json_lossy(id)));
	if (process_find(id, &w->process, e) < 0)
		return -1;
	if (process_watch(w->process, &w->news, e) == 0)
		return 0;
	process_release(TAKE(w->process));
	return -1;
}

int
api_port_watch(struct call *c, struct err *e)
{
	struct port_watch w = { .call = c, .began_ms = clock_ms() };
	struct port_body b;

	if (decode_body(c, &b, e) < 0 || watch_process(&w, b.process, e) < 0)
		return -1;
	w.probe = probe_of(&b);
	w.interval_ms = b.interval_ms;
	activity_begin(ACTIVITY_STREAMS);
	follow_port(&w);
	activity_end(ACTIVITY_STREAMS);
	if (w.process != NULL) {
		process_unwatch(w.process, &w.news);
		process_release(w.process);
	}
	return 0;
}
