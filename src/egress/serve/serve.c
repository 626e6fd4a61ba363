/* serve.c: the process that serves the networks of sandboxes. */
#include "egress/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "egress/base/authority.h"

enum {
	REPORT_MS = 1000,
	REPORTS_MAX = 200, /* of one message */
	BODY_MAX = 4 * 1024 * 1024
};

/* ---- messages of rows */

/* The text that came as a file; NULL if it cannot be read. */
static json_t *
read_body(int fd)
{
	auto_free char *text = NULL;
	json_t *body = NULL;
	struct err e = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > BODY_MAX)
		return NULL;
	text = xmalloc((size_t)st.st_size + 1);
	if (read(fd, text, (size_t)st.st_size) != st.st_size ||
	    json_parse(text, (size_t)st.st_size, &body, &e) < 0)
		log_err(LOG_ERROR, "body", &e);
	token_wipe(text, (size_t)st.st_size);
	return body;
}

static void
do_session(struct egress *g, const json_t *msg, struct channel_fds *fds)
{
	auto_fd int body = channel_fds_take(fds, 0);
	int link = channel_fds_take(fds, 1);
	int waiter = channel_fds_take(fds, 2); /* a worker, or none */
	auto_json json_t *policies = read_body(body);

	session_follow(g, msg, policies, link, waiter);
}

static void
do_authority(struct egress *g, const json_t *msg, struct channel_fds *fds)
{
	auto_fd int fd = channel_fds_take(fds, 0);
	auto_json json_t *body = read_body(fd);
	struct authority *a;
	struct err e = { 0 };

	(void)msg;
	if (authority_open(json_str(body, "certificate"), json_str(body, "key"),
		&a, &e) < 0) {
		log_err(LOG_ERROR, "authority", &e);
		return;
	}
	authority_close(g->authority);
	g->authority = a;
}

static void
do_end(struct egress *g, const json_t *msg, struct channel_fds *fds)
{
	struct session *s = session_find(g, json_str(msg, "session"));

	(void)fds;
	if (s != NULL)
		session_end(s);
}

static void
do_counted(struct egress *g, const json_t *msg, struct channel_fds *fds)
{
	struct session *s = session_find(g, json_str(msg, "session"));
	struct conn *c = s == NULL
	    ? NULL
	    : conn_find(s, json_integer_value(json_object_get(msg, "conn")));

	(void)fds;
	if (s != NULL)
		conn_count_next(s);
	if (c != NULL && c->waiting && !c->unasked &&
	    conn_counted(c, json_str(msg, "outcome")))
		conn_step(c);
}

static const struct {
	const char *op;
	void (
	    *run)(struct egress *g, const json_t *msg, struct channel_fds *fds);
} OPS[] = {
	{ "authority", do_authority },
	{ "session", do_session },
	{ "end", do_end },
	{ "counted", do_counted },
};

/* There was no descriptor for what came with it: rows says all of it again. */
static void
miss_message(struct egress *g, const struct err *why)
{
	log_err(LOG_ERROR, "message", why);
	(void)tell(g, json_pack("{s:s}", "op", "missed"));
}

static void
on_rows(struct loop_watch *w, uint32_t events)
{
	struct egress *g = (struct egress *)(void *)((char *)w -
	    offsetof(struct egress, rows_watch));
	auto_json json_t *msg = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	struct err e = { 0 };

	(void)events;
	if (channel_recv(g->rows_fd, clock_ms(), &msg, &fds, &e) < 0) {
		if (e.code == CODE_PEER_CLOSED)
			g->loop.over = true;
		else if (e.code != CODE_TIMED_OUT)
			miss_message(g, &e);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
		if (str_equal(json_str(msg, "op"), OPS[i].op))
			OPS[i].run(g, msg, &fds);
}

/* ---- messages to rows */

/* Counts that rows does not take now are added to the next ones. */
static void
report(struct egress *g)
{
	json_t *list = json_array();
	struct session *s = TAILQ_FIRST(&g->sessions);

	for (; s != NULL; s = TAILQ_NEXT(s, link)) {
		json_t *one = NULL;

		if (json_array_size(list) == 0 && !tell_can(g))
			break;
		one = session_report(s);
		if (one != NULL)
			json_array_append_new(list, one);
		if (json_array_size(list) == REPORTS_MAX) {
			(void)tell(g,
			    json_pack("{s:s, s:o}", "op", "use", "sessions",
				list));
			list = json_array();
		}
	}
	if (json_array_size(list) > 0)
		(void)tell(g,
		    json_pack("{s:s, s:o}", "op", "use", "sessions", list));
	else
		json_decref(list);
}

static void
on_report(struct loop_timer *t)
{
	struct egress *g = (struct egress *)(void *)((char *)t -
	    offsetof(struct egress, report_timer));

	report(g);
	loop_set(&g->loop, t, clock_ms() + REPORT_MS);
}

/* ---- the process */

/* Reads the settings. */
static int
read_settings(struct egress *g, struct err *e)
{
	if (address_list_parse(g->conf->egress_allow_private, &g->exceptions,
		e) < 0)
		return err_wrap(e, "egress_allow_private");
	g->client_tls = terminate_context(g->conf, e);
	if (g->client_tls == NULL || via_parse(g, e) < 0)
		return -1;
	return resolver_open(&g->loop, g->conf->egress_resolver, &g->resolver,
	    e);
}

static int
open_all(struct egress *g, struct err *e)
{
	g->pipe[0] = g->pipe[1] = -1;
	if (loop_open(&g->loop, e) < 0 || read_settings(g, e) < 0)
		return -1;
	if (pipe2(g->pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(e, "pipe");
	/* a smaller one works, too */
	(void)!fcntl(g->pipe[1], F_SETPIPE_SZ, SERVE_READ_MAX);
	return 0;
}

static void
close_all(struct egress *g)
{
	if (g->resolver != NULL)
		resolver_close(g->resolver);
	authority_close(g->authority);
	SSL_CTX_free(g->client_tls);
	loop_clear(&g->loop, &g->report_timer);
	loop_close(&g->loop);
	mem_close_fd(&g->pipe[0]);
	mem_close_fd(&g->pipe[1]);
	free(g);
}

int
serve_check(const struct conf *conf, struct err *e)
{
	struct egress *g = xcalloc(1, sizeof(*g));
	int rc;

	g->conf = conf;
	rc = open_all(g, e);
	close_all(g);
	return rc;
}

/* A connection has two descriptors; a quarter of all is for listeners. */
static size_t
count_max(const struct conf *conf)
{
	size_t wanted = (size_t)conf->egress_connections_total;
	struct rlimit r;
	size_t most;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
		return wanted;
	most = (size_t)(r.rlim_cur - r.rlim_cur / 4) / 2;
	if (most >= wanted)
		return wanted;
	log_line(LOG_INFO, "descriptors",
	    "egress_connections_total is %zu, and the limit of open files allows %zu connections",
	    wanted, most);
	return most;
}

int
serve_run(const struct conf *conf, int rows_fd)
{
	struct egress *g = xcalloc(1, sizeof(*g));
	struct err e = { 0 };

	g->conf = conf;
	g->rows_fd = rows_fd;
	TAILQ_INIT(&g->sessions);
	g->rows_watch = (struct loop_watch){ .ready = on_rows, .fd = -1 };
	g->report_timer.fire = on_report;
	if (open_all(g, &e) < 0 || fcntl(rows_fd, F_SETFL, O_NONBLOCK) < 0 ||
	    loop_watch(&g->loop, &g->rows_watch, rows_fd, EPOLLIN) < 0) {
		log_err(LOG_ERROR, "serve", &e);
		close_all(g);
		return -1;
	}
	g->conn_max = count_max(conf);
	loop_set(&g->loop, &g->report_timer, clock_ms() + REPORT_MS);
	while (!g->loop.over)
		loop_round(&g->loop, NULL);
	report(g); /* of many sessions in one message: there is room for few */
	while (!TAILQ_EMPTY(&g->sessions))
		session_end(TAILQ_FIRST(&g->sessions));
	close_all(g);
	return 0;
}
