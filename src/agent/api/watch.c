/* watch.c: reports changes of files (POST api/watch and api/watch/check). */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/api/target.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "agent/watch/watch.h"
#include "common/clock.h"
#include "common/glob.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "web/reply.h"
#include "web/sse.h"

enum {
	INTERVAL_MS = 75, /* between two batches of events */
	PIECE = 16384
};

static const char TOP[] = "/workspace";
static const char *const EXCLUDED[] = { ".git", "node_modules", ".DS_Store" };

/* ---- the body */

struct watch_body {
	int recursive;
	const json_t *events, *include, *exclude;
	char since[WATCH_VERSION_MAX];
};

/* clang-format off */
static const struct jfield FIELDS[] = {
	JFIELD("recursive", struct watch_body, recursive, J_BOOL, 0, 0, 1, "also what is in its directories"),
	JFIELD("events", struct watch_body, events, J_ARR, J_OF_STRINGS, 0, CHANGE__MAX, "changes of these kinds only"),
	JFIELD("include", struct watch_body, include, J_ARR, J_OF_STRINGS, 0, WATCH_PATTERNS_MAX, "patterns of files to report"),
	JFIELD("exclude", struct watch_body, exclude, J_ARR, J_OF_STRINGS, 0, WATCH_PATTERNS_MAX, "patterns of files to leave out"),
	JFIELD("since", struct watch_body, since, J_STR, 0, 1, WATCH_VERSION_MAX - 1, "the version of an earlier check"),
};
/* clang-format on */

static int
read_types(const json_t *events, unsigned *out, struct err *e)
{
	size_t i;
	json_t *v;

	*out = 0;
	json_array_foreach(events, i, v)
	{
		unsigned type = 0;

		if (!json_is_string(v))
			return err_field(e, "events", "must be strings");
		while (type < CHANGE__MAX &&
		    !str_equal(json_string_value(v), CHANGE_NAMES[type]))
			type++;
		if (type == CHANGE__MAX)
			return err_field(e, "events",
			    "%.40s is not a type of event",
			    json_string_value(v));
		*out |= 1u << type;
	}
	if (*out == 0)
		*out = (1u << CHANGE__MAX) - 1;
	return 0;
}

/* *out is a list that ends with NULL, also on failure. */
static int
read_patterns(const json_t *from, const char *field, char ***out, struct err *e)
{
	size_t i;
	json_t *v;

	*out = xcalloc(json_array_size(from) + 1, sizeof(**out));
	json_array_foreach(from, i, v)
	{
		const char *fault = json_is_string(v)
		    ? glob_fault(json_string_value(v))
		    : "must be strings";

		if (fault != NULL)
			return err_field(e, field, "%s", fault);
		(*out)[i] = xstrdup(json_string_value(v));
	}
	return 0;
}

static int
read_filters(const struct watch_body *b, struct watch_options *w, struct err *e)
{
	bool include = json_array_size(b->include) > 0;

	if (include && json_array_size(b->exclude) > 0)
		return err_field(e, "include",
		    "cannot be combined with exclude");
	if (include && read_patterns(b->include, "include", &w->include, e) < 0)
		return -1;
	if (b->exclude != NULL)
		return read_patterns(b->exclude, "exclude", &w->exclude, e);
	w->exclude = xcalloc(ARRAY_LEN(EXCLUDED) + 1, sizeof(*w->exclude));
	for (size_t i = 0; i < ARRAY_LEN(EXCLUDED); i++)
		w->exclude[i] = xstrdup(EXCLUDED[i]);
	return 0;
}

/* ---- the path */

static bool
is_below_top(const char *path)
{
	return str_equal(path, TOP) || files_below(path, TOP) != NULL;
}

static int
refuse_outside(const char *path, struct err *e)
{
	return err_set(e, ERR_DENIED, CODE_PERMISSION_DENIED,
	    "%.150s cannot be watched: it is not in %s", path, TOP);
}

/*
 * For a file its directory is watched.  Editors replace a file by a new one of
 * the same name, and a watch of the file itself would end with the old one.
 */
static int
find_place(const struct target *t, struct watch_options *w, struct err *e)
{
	struct stat st;
	char *slash;

	w->top = xstrdup(TOP);
	w->real = realpath(t->where, NULL);
	if (w->real == NULL || stat(w->real, &st) < 0)
		return is_below_top(t->where) ? files_fail(e, t->where)
					      : refuse_outside(t->where, e);
	if (!is_below_top(w->real))
		return refuse_outside(w->real, e);
	if (S_ISDIR(st.st_mode))
		return 0;
	slash = strrchr(w->real, '/');
	w->only = xstrdup(slash + 1);
	*slash = '\0';
	w->recursive = false;
	return 0;
}

static int
read_request(struct call *c, json_t **body, struct watch_body *b,
    struct target *t, struct watch_options *w, struct err *e)
{
	*b = (struct watch_body){ .recursive = 1 };
	if (request_body(c, TARGET_BODY_MAX, body, e) < 0 ||
	    target_take(c, *body, "path", "file.watch", t, e) < 0 ||
	    jfield_decode(*body, FIELDS, ARRAY_LEN(FIELDS), J_LENIENT, b, e) <
		0)
		return -1;
	w->recursive = b->recursive;
	if (read_types(b->events, &w->types, e) < 0 ||
	    read_filters(b, w, e) < 0)
		return -1;
	return find_place(t, w, e);
}

/* ---- the stream */

struct watch_stream {
	struct call *call;
	struct watch *watch;
	const char *path; /* the call's, absolute, without a slash at the end */
	struct buf out;
	int64_t rest_until_ms; /* no events before this time */
	int64_t beat_ms;       /* when the next heartbeat is due */
	bool session_ends;
};

static void
send_out(struct watch_stream *f)
{
	if (f->out.len > 0)
		call_write(f->call, f->out.data, f->out.len);
	f->out.len = 0;
}

static void
add_path(struct watch_stream *f, const char *below)
{
	buf_str(&f->out, "\"path\":\"");
	utf8_json(&f->out, f->path, strlen(f->path));
	if (below[0] != '\0')
		buf_str(&f->out, "/");
	utf8_json(&f->out, below, strlen(below));
	buf_str(&f->out, "\",");
}

static void
send_changes(struct watch_stream *f, const struct changes *c)
{
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	for (size_t i = 0; i < c->count && !f->call->gone; i++) {
		buf_fmt(&f->out,
		    "data: {\"type\":\"event\",\"eventType\":\"%s\",",
		    CHANGE_NAMES[c->all[i].type]);
		add_path(f, changes_path(c, i));
		buf_fmt(&f->out, "\"isDirectory\":%s,\"timestamp\":\"%s\"}\n\n",
		    c->all[i].directory ? "true" : "false", at);
		if (f->out.len >= PIECE)
			send_out(f);
	}
	send_out(f);
	if (c->dropped > 0)
		buf_fmt(&f->out,
		    "data: {\"type\":\"error\",\"error\":\"%lld changes were "
		    "dropped; read the directory again\",\"dropped\":%lld}\n\n",
		    (long long)c->dropped, (long long)c->dropped);
}

/* Sends what watch_take() returned.  True when the watch has ended. */
static bool
send_news(struct watch_stream *f, const struct watch_news *n)
{
	send_changes(f, &n->changes);
	if (n->lost)
		buf_str(&f->out,
		    "data: {\"type\":\"error\",\"error\":\"the kernel lost "
		    "some changes; read the directory again\"}\n\n");
	if (n->stopped != NULL)
		buf_fmt(&f->out,
		    "data: {\"type\":\"stopped\",\"reason\":\"%s\"}\n\n",
		    n->stopped);
	send_out(f);
	call_flush(f->call);
	return n->stopped != NULL;
}

/*
 * Waits until there may be changes and rest_until_ms is over, but not longer
 * than until the next heartbeat or the end of the session.  False: the client
 * has gone.
 */
static bool
wait_news(struct watch_stream *f)
{
	bool resting = clock_left_ms(f->rest_until_ms) > 0;
	struct pollfd p[] = { { call_fd(f->call), POLLRDHUP, 0 },
		{ resting ? -1 : watch_fd(f->watch), POLLIN, 0 },
		{ session_end_fd(), POLLIN, 0 } };
	eventfd_t seen;

	(void)poll(p, ARRAY_LEN(p),
	    clock_left_ms(resting ? f->rest_until_ms : f->beat_ms));
	if (p[1].revents != 0)
		(void)eventfd_read(watch_fd(f->watch), &seen);
	if (p[0].revents == 0 && clock_left_ms(f->beat_ms) == 0) {
		sse_heartbeat(f->call);
		f->beat_ms = clock_ms() + SSE_HEARTBEAT_MS;
	}
	if (p[2].revents != 0) {
		f->session_ends = true;
		f->rest_until_ms = 0;
	}
	return p[0].revents == 0 && !f->call->gone;
}

static void
follow_watch(struct watch_stream *f)
{
	bool last = false;

	sse_begin(f->call);
	buf_str(&f->out, "data: {\"type\":\"watching\",");
	add_path(f, "");
	buf_fmt(&f->out, "\"watchId\":\"%s\"", watch_id(f->watch));
	request_add_ignored(f->call, &f->out);
	buf_str(&f->out, "}\n\n");
	send_out(f);
	call_flush(f->call);
	f->beat_ms = clock_ms() + SSE_HEARTBEAT_MS;
	while (!last && !f->session_ends && wait_news(f)) {
		struct watch_news n;

		if (clock_left_ms(f->rest_until_ms) > 0 ||
		    !watch_take(f->watch, &n))
			continue;
		last = send_news(f, &n);
		changes_free(&n.changes);
		f->rest_until_ms = clock_ms() + INTERVAL_MS;
		f->beat_ms = clock_ms() + SSE_HEARTBEAT_MS;
	}
	if (!last && f->session_ends)
		(void)request_session_end(f->call, NULL);
}

int
api_watch(struct call *c, struct err *e)
{
	auto_watch_options struct watch_options options = { 0 };
	auto_json json_t *body = NULL;
	struct watch_stream f = { .call = c };
	struct watch_body b;
	struct target t;
	size_t len;

	if (read_request(c, &body, &b, &t, &options, e) < 0 ||
	    watch_open(&options, &f.watch, e) < 0)
		return -1;
	len = strlen(t.where);
	if (t.where[len - 1] == '/')
		t.where[len - 1] = '\0';
	f.path = t.where;
	activity_begin(ACTIVITY_STREAMS);
	follow_watch(&f);
	activity_end(ACTIVITY_STREAMS);
	watch_close(f.watch);
	buf_free(&f.out);
	return 0;
}

/* ---- whether something has changed */

/* clang-format off */
static const struct { const char *status, *reason; } ANSWERS[] = {
	[WATCH_UNCHANGED] = { "unchanged", NULL },
	[WATCH_CHANGED]   = { "changed",   NULL },
	[WATCH_EXPIRED]   = { "resync",    "expired" },
	[WATCH_RESTARTED] = { "resync",    "restarted" },
};
/* clang-format on */

int
api_watch_check(struct call *c, struct err *e)
{
	auto_watch_options struct watch_options options = { 0 };
	auto_json json_t *body = NULL;
	char version[WATCH_VERSION_MAX];
	enum watch_answer answer;
	struct watch_body b;
	struct target t;

	if (read_request(c, &body, &b, &t, &options, e) < 0)
		return -1;
	if (b.since[0] != '\0' && !watch_is_version(b.since))
		return err_field(e, "since",
		    "must be the version of an earlier check");
	if (watch_check(&options, b.since[0] != '\0' ? b.since : NULL, &answer,
		version, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:s, s:s, s:s*}", "status", ANSWERS[answer].status,
		"version", version, "reason", ANSWERS[answer].reason));
}
