/* rows.c: reads policies, writes what is counted, starts the serving process. */
#include "egress/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/channel.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/base/ruleset.h"
#include "egress/process.h"
#include "egress/serve/serve.h"
#include "store/listen.h"

enum {
	STATEMENT_MS = 3000,
	LAST_MS = 2000,  /* for the last counts, when we end */
	LOCK_MS = 100,   /* a row of one session must not stop all others */
	AGAIN_MS = 1000, /* until the database or the process is tried again */
	KEPT_FD = 3,     /* the first after those for input and output */
	PATH_MAX_BYTES = 600
};

static const char CHANNEL[] = "sandlease_network";

static volatile sig_atomic_t must_stop;

static void
on_signal(int signal)
{
	(void)signal;
	must_stop = 1;
}

/* ---- the serving process */

/* Keeps nothing of this process but the socket: not the database, for one. */
static int
leave_descriptors(int fd)
{
	if (dup2(fd, KEPT_FD) < 0 || close_range(KEPT_FD + 1, ~0U, 0) < 0)
		_exit(EXIT_FAILURE);
	return KEPT_FD;
}

static _Noreturn void
become_serve(const struct conf *conf, int fd)
{
	sigset_t none;

	fd = leave_descriptors(fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* rows decides when we end: by closing its side, or by its own end */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	prctl(PR_SET_NAME, "egress-serve");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* its memory has secrets of sessions */
	prctl(PR_SET_DUMPABLE, 0);
	_exit(serve_run(conf, fd) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void on_serve(struct loop_watch *w, uint32_t events);

static int
start_serve(struct rows_process *p, struct err *e)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	p->serve_pid = fork();
	if (p->serve_pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_errno(e, "fork");
	}
	if (p->serve_pid == 0)
		become_serve(p->conf, ends[1]);
	close(ends[1]);
	p->serve_fd = ends[0];
	p->serve_watch.ready = on_serve;
	return loop_watch(&p->loop, &p->serve_watch, p->serve_fd, EPOLLIN) < 0
	    ? err_errno(e, "epoll")
	    : 0;
}

/* The process has ended: everything it had is closed. */
static void
lose_serve(struct rows_process *p)
{
	int status = 0;

	loop_forget(&p->loop, &p->serve_watch);
	mem_close_fd(&p->serve_fd);
	while (waitpid(p->serve_pid, &status, 0) < 0 && errno == EINTR)
		;
	attached_forget(p);
	if (must_stop)
		return;
	log_line(LOG_ERROR, "serve_ended",
	    "the serving process has ended (%s %d); another is started",
	    WIFSIGNALED(status) ? "signal" : "exit code",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	loop_set(&p->loop, &p->again_timer, clock_ms() + AGAIN_MS / 4);
}

/* ---- events */

static void
on_serve(struct loop_watch *w, uint32_t events)
{
	struct rows_process *p = (struct rows_process *)(void *)((char *)w -
	    offsetof(struct rows_process, serve_watch));
	auto_json json_t *msg = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	struct err e = { 0 };

	(void)events;
	if (channel_recv(p->serve_fd, clock_ms(), &msg, &fds, &e) < 0) {
		if (e.code == CODE_PEER_CLOSED)
			lose_serve(p);
		else if (e.code != CODE_TIMED_OUT)
			log_err(LOG_ERROR, "message", &e);
		return;
	}
	reports_take(p, msg);
}

static void
on_listen(struct loop_watch *w, uint32_t events)
{
	(void)events;
	callers_accept((struct rows_process *)(void *)((char *)w -
	    offsetof(struct rows_process, listen_watch)));
}

/* ---- the database */

static void
on_told(void *ctx, const char *text)
{
	struct rows_process *p = ctx;

	if (str_equal(text, "*"))
		follow_all(p);
	else
		told_add(p, text);
}

static void
lose_database(struct rows_process *p, const struct err *e)
{
	log_err(LOG_WARN, "database", e);
	loop_forget(&p->loop, &p->database_watch);
	loop_set(&p->loop, &p->again_timer, clock_ms() + AGAIN_MS);
}

static void
on_database(struct loop_watch *w, uint32_t events)
{
	struct rows_process *p = (struct rows_process *)(void *)((char *)w -
	    offsetof(struct rows_process, database_watch));
	struct err e = { 0 };

	(void)events;
	if (listen_take(p->listener, on_told, p, &e) < 0)
		lose_database(p, &e);
}

/*
 * Listens to the database and reads all sessions; the order matters: a change
 * in between is told.
 */
static int
begin(struct rows_process *p, struct err *e)
{
	loop_forget(&p->loop, &p->database_watch);
	if ((p->serve_fd < 0 && start_serve(p, e) < 0) ||
	    store_check_pooling(p->store, e) < 0 ||
	    control_open(p->conf, p->store, &p->ctl, e) < 0 ||
	    STORE_RUN(p->store, STMT_EGRESS_STOPPED, NULL, e,
		p->conf->host_name) < 0 ||
	    authority_send(p, e) < 0 ||
	    listen_begin(p->listener, CHANNEL, e) < 0)
		return -1;
	if (loop_watch(&p->loop, &p->database_watch, listen_fd(p->listener),
		EPOLLIN) < 0)
		return err_errno(e, "epoll");
	follow_all(p);
	return 0;
}

static void
on_again(struct loop_timer *t)
{
	struct rows_process *p = (struct rows_process *)(void *)((char *)t -
	    offsetof(struct rows_process, again_timer));
	struct err e = { 0 };

	if (begin(p, &e) < 0)
		lose_database(p, &e);
}

/* ---- the process */

static void
write_log_request(struct rows_process *p)
{
	uint8_t bytes[RULESET_BYTES_MAX];

	base64_encode(&p->log, bytes, ruleset_write_log(bytes));
}

/* One of us per host: two would fight over the sandboxes' sockets. */
static int
take_place(const struct conf *conf, int *lock, struct err *e)
{
	char path[PATH_MAX_BYTES];

	snprintf(path, sizeof(path), "%s/egress.lock", conf->run_dir);
	*lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*lock < 0)
		return err_errno(e, "%s", path);
	if (flock(*lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_CONFLICT, CODE_ALREADY_RUNNING,
		    "another sandlease-egress runs with %s", conf->run_dir);
	return 0;
}

static void
catch_signals(sigset_t *while_waiting)
{
	struct sigaction a = { .sa_handler = on_signal };
	sigset_t block;

	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGINT);
	sigprocmask(SIG_BLOCK, &block, while_waiting);
}

static int
open_all(struct rows_process *p, struct err *e)
{
	char path[PATH_MAX_BYTES];

	if (loop_open(&p->loop, e) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/egress.sock", p->conf->run_dir);
	p->listen_fd = channel_listen(path, SOCK_SEQPACKET, e);
	if (p->listen_fd < 0)
		return -1;
	return loop_watch(&p->loop, &p->listen_watch, p->listen_fd, EPOLLIN) < 0
	    ? err_errno(e, "epoll")
	    : 0;
}

/* Serve hears that we end, and says what it has counted. */
static void
hear_last(struct rows_process *p)
{
	int64_t deadline_ms = clock_ms() + LAST_MS;
	struct err e = { 0 };

	shutdown(p->serve_fd, SHUT_WR);
	for (;;) {
		auto_json json_t *msg = NULL;
		auto_fds struct channel_fds fds = { .count = 0 };

		if (channel_recv(p->serve_fd, deadline_ms, &msg, &fds, &e) < 0)
			return;
		reports_take(p, msg);
	}
}

static void
close_all(struct rows_process *p)
{
	struct err e = { 0 };

	if (p->serve_fd >= 0) {
		hear_last(p);
		lose_serve(p);
	}
	reports_close(p);
	told_close(p);
	if (listen_fd(p->listener) >= 0 &&
	    STORE_RUN(p->store, STMT_EGRESS_STOPPED, NULL, &e,
		p->conf->host_name) < 0)
		log_err(LOG_WARN, "stopped", &e);
	mem_close_fd(&p->listen_fd);
	store_free(p->store);
	store_free(p->listener);
	buf_free(&p->log);
	loop_close(&p->loop);
}

int
rows_run(const struct conf *conf, struct err *e)
{
	static const struct store_options STORE = { .program =
							"sandlease-egress",
		.statement_timeout_ms = STATEMENT_MS,
		.lock_timeout_ms = LOCK_MS };
	struct rows_process p = { .conf = conf,
		.listen_watch = { .ready = on_listen, .fd = -1 },
		.database_watch = { .ready = on_database, .fd = -1 },
		.serve_watch = { .ready = on_serve, .fd = -1 },
		.again_timer = { .fire = on_again },
		.listen_fd = -1,
		.serve_fd = -1 };
	auto_fd int lock = -1;
	sigset_t while_waiting;
	int rc;

	TAILQ_INIT(&p.attached);
	catch_signals(&while_waiting);
	if (serve_check(conf, e) < 0 || take_place(conf, &lock, e) < 0 ||
	    open_all(&p, e) < 0)
		return -1;
	reports_open(&p);
	told_open(&p);
	write_log_request(&p);
	p.store = store_new(conf->database, &STORE);
	p.listener = store_new(conf->database, &STORE);
	rc = begin(&p, e);
	if (rc < 0 && e->code == CODE_DATABASE_UNAVAILABLE) {
		lose_database(&p, e); /* tried again soon */
		rc = 0;
	}
	while (rc == 0 && !must_stop)
		loop_round(&p.loop, &while_waiting);
	must_stop = 1;
	close_all(&p);
	return rc;
}
