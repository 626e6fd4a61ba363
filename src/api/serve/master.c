/* master.c: starts the pools of workers and replaces workers that end. */
#include "api/serve/master.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/gate/revocations.h"
#include "api/org_share.h"
#include "api/serve/disk_watch.h"
#include "api/serve/listener.h"
#include "api/serve/starts.h"
#include "api/serve/warm.h"
#include "api/serve/webhooks.h"
#include "api/serve/worker.h"
#include "api/stream/stream.h"
#include "common/channel.h"
#include "common/clock.h"
#include "common/kernel_limits.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "store/store.h"
#include "web/server.h"

enum {
	SYSTEMD_FIRST_FD = 3,
	QUICK_DEATH_MS = 1000, /* back-off after a worker that lived shorter */
	STOP_MS = 15000,       /* time for workers to finish their request */
	TELL_AGAIN_MS = 1000
};

static const char *const POOL_NAMES[POOL__MAX] = { [POOL_API] = "api",
	[POOL_READ] = "read",
	[POOL_AUTH] = "auth",
	[POOL_STREAM] = "stream" };

/* Processes of which the master runs one each, beside the pools. */
static const struct task {
	const char *name;
	enum pool pool; /* runs where this pool is served */
	int (*run)(const struct conf *conf); /* NULL: the listener */
} TASKS[] = {
	{ "watch", POOL_API, watch_run },
	{ "starts", POOL_API, starts_run },
	{ "webhooks", POOL_API, webhooks_run },
	{ "warm", POOL_API, warm_run },
	{ "listener", POOL_AUTH, NULL },
};

struct child {
	pid_t pid;
	const struct task *task; /* NULL: a worker of a pool */
	enum pool pool;
	size_t number;
	int64_t started_ms;
};

struct master {
	const struct conf *conf;
	int listen_fd[POOL__MAX];
	struct org_share *share[POOL__MAX]; /* NULL: a pool without shares */
	struct revocations *revocations;    /* for the pool `auth` */
	struct child *children;
	size_t count;
};

/* $LISTEN_FDNAMES names the sockets that systemd passed, in order. */
static int
find_passed_socket(const char *name)
{
	const char *pid = getenv("LISTEN_PID"), *names;
	int fd = SYSTEMD_FIRST_FD;
	int64_t meant;

	names = getenv("LISTEN_FDNAMES");
	if (pid == NULL || names == NULL ||
	    !str_to_int(pid, getpid(), getpid(), &meant))
		return -1;
	for (;; fd++) {
		size_t len = strcspn(names, ":");

		if (len == strlen(name) && strncmp(names, name, len) == 0)
			return fd;
		if (names[len] == '\0')
			return -1;
		names += len + 1;
	}
}

/* Descriptor 0 is the socket of one pool; this master serves no other. */
static int
use_given_socket(struct master *m, const char *pool, struct err *e)
{
	for (int p = 0; p < POOL__MAX; p++)
		m->listen_fd[p] = -1;
	for (int p = 0; p < POOL__MAX; p++)
		if (str_equal(POOL_NAMES[p], pool != NULL ? pool : "api")) {
			m->listen_fd[p] = STDIN_FILENO;
			return 0;
		}
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "--pool must be api, read, auth or stream");
}

static int
open_sockets(struct master *m, struct err *e)
{
	for (int p = 0; p < POOL__MAX; p++) {
		auto_free char *path =
		    xasprintf("%s/%s.sock", m->conf->run_dir, POOL_NAMES[p]);

		m->listen_fd[p] = find_passed_socket(POOL_NAMES[p]);
		if (m->listen_fd[p] < 0)
			m->listen_fd[p] = channel_listen(path, SOCK_STREAM, e);
		if (m->listen_fd[p] < 0)
			return -1;
	}
	return 0;
}

/*
 * A child must not keep a listener that it does not serve: if that pool ended,
 * clients could still connect and would wait in vain.
 */
static void
close_others(struct master *m, const struct child *ch)
{
	for (int p = 0; p < POOL__MAX; p++)
		if (m->listen_fd[p] >= 0 &&
		    (ch->task != NULL || ch->pool != (enum pool)p))
			close(take_fd(&m->listen_fd[p]));
}

static void
start_child(struct master *m, struct child *ch)
{
	pid_t parent = getpid();

	ch->started_ms = clock_ms();
	ch->pid = fork();
	if (ch->pid < 0) {
		log_line(LOG_ERROR, "fork", "%s", strerror(errno));
		return;
	}
	if (ch->pid > 0)
		return;
	/* if the master is killed, its workers end, but no sandbox does */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	close_others(m, ch);
	if (ch->task != NULL && ch->task->run == NULL)
		exit(listener_run(m->conf, m->revocations));
	revocations_protect(m->revocations);
	if (ch->task != NULL)
		exit(ch->task->run(m->conf));
	if (ch->pool == POOL_STREAM)
		exit(stream_run(m->conf, m->listen_fd[ch->pool]));
	exit(worker_run(m->conf, ch->pool, m->listen_fd[ch->pool],
	    m->share[ch->pool], m->revocations, ch->number));
}

static void
reap_children(struct master *m, bool replace)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < m->count; i++) {
			struct child *ch = &m->children[i];

			if (ch->pid != pid)
				continue;
			ch->pid = 0;
			if (m->share[ch->pool] != NULL && ch->task == NULL)
				org_share_leave(m->share[ch->pool], ch->number);
			if (replace)
				log_line(LOG_WARN, "worker_ended",
				    "%s worker %d ended with %s %d",
				    ch->task != NULL ? ch->task->name
						     : POOL_NAMES[ch->pool],
				    (int)pid,
				    WIFSIGNALED(status) ? "signal" : "status",
				    WIFSIGNALED(status) ? WTERMSIG(status)
							: WEXITSTATUS(status));
		}
	}
}

/* Starts missing children; true: some of them must wait. */
static bool
replace_missing(struct master *m)
{
	bool put_off = false;

	for (size_t i = 0; i < m->count; i++) {
		struct child *ch = &m->children[i];

		if (ch->pid > 0)
			continue;
		if (ch->started_ms == 0 ||
		    clock_ms() - ch->started_ms >= QUICK_DEATH_MS)
			start_child(m, ch);
		if (ch->pid <= 0) /* ended too soon, or fork() failed */
			put_off = true;
	}
	return put_off;
}

static bool
any_left(const struct master *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->children[i].pid > 0 &&
		    m->children[i].pool != POOL_STREAM)
			return true;
	return false;
}

static void
signal_all(const struct master *m, int sig)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->children[i].pid > 0)
			kill(m->children[i].pid, sig);
}

/*
 * Processes of the pool `stream` may outlive the master, until their streams
 * have ended, as old workers of nginx do: do not kill them.
 */
static void
forget_streams(struct master *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->children[i].pool == POOL_STREAM)
			m->children[i].pid = 0;
}

static int
wait_signal(const sigset_t *set, int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000,
		.tv_nsec = (ms % 1000) * 1000000 };

	return ms < 0 ? sigwaitinfo(set, NULL) : sigtimedwait(set, NULL, &ts);
}

static void
stop_children(struct master *m, const sigset_t *set)
{
	int64_t deadline = clock_ms() + STOP_MS;

	while (any_left(m) && clock_left_ms(deadline) > 0) {
		/* repeat it: a worker may get the signal just before it waits,
		 * and then the signal does not interrupt the wait */
		signal_all(m, SIGTERM);
		wait_signal(set, TELL_AGAIN_MS);
		reap_children(m, false);
	}
	forget_streams(m);
	signal_all(m, SIGKILL);
}

/* A task runs where its pool is served; the listener only for a cache. */
static bool
is_wanted(const struct master *m, const struct task *t)
{
	return m->listen_fd[t->pool] >= 0 &&
	    (t->run != NULL || m->conf->auth_cache_entries > 0);
}

static void
plan_children(struct master *m)
{
	const int64_t sizes[POOL__MAX] = { [POOL_API] = m->conf->api_workers,
		[POOL_READ] = m->conf->read_workers,
		[POOL_AUTH] = m->conf->auth_workers,
		[POOL_STREAM] = m->conf->stream_workers };
	size_t most = ARRAY_LEN(TASKS);

	for (int p = 0; p < POOL__MAX; p++)
		most += (size_t)sizes[p];
	m->children = xcalloc(most, sizeof(*m->children));
	for (int p = 0; p < POOL__MAX; p++)
		for (size_t i = 0; m->listen_fd[p] >= 0 && i < (size_t)sizes[p];
		     i++)
			m->children[m->count++] =
			    (struct child){ .pool = (enum pool)p, .number = i };
	for (size_t i = 0; i < ARRAY_LEN(TASKS); i++)
		if (is_wanted(m, &TASKS[i]))
			m->children[m->count++] =
			    (struct child){ .task = &TASKS[i] };
	m->share[POOL_API] = org_share_new((size_t)sizes[POOL_API]);
	m->share[POOL_READ] = org_share_new((size_t)sizes[POOL_READ]);
	m->revocations = revocations_new();
}

static const struct store_options STORE_OPTIONS = { "sandlease-api", 5000 };

int
master_check(const struct conf *conf, struct err *e)
{
	struct store *st = store_new(conf->database, &STORE_OPTIONS);
	int rc =
	    store_check_pooling(st, e) < 0 || control_check(conf, st, e) < 0
	    ? -1
	    : 0;

	store_free(st);
	return rc;
}

/*
 * Refuses to start if the storage is not the one of this host's row, for
 * example because the disk is not mounted.  Every program refuses to act on
 * such a storage; without this check the calls of tenants would be the first to
 * fail.  Any other error of control_open() does not prevent the start.
 */
static int
check_storage(const struct conf *conf, struct store *st, struct err *e)
{
	struct err why = { 0 };
	struct control ctl;

	if (control_open(conf, st, &ctl, &why) == 0 ||
	    why.code != CODE_STORAGE_MISMATCH)
		return 0;
	*e = why;
	return -1;
}

/*
 * Refuses to start behind a pooler in transaction mode.  Locks on a session
 * need a connection of their own, and would be lost without notice.  The master
 * starts even if the database cannot be reached yet: then it cannot check, and
 * calls answer 503.
 */
static int
check_database(const struct conf *conf, struct err *e)
{
	struct store *st = store_new(conf->database, &STORE_OPTIONS);
	bool direct = store_check_pooling(st, e) == 0;
	int rc = direct ? check_storage(conf, st, e) : -1;

	store_free(st);
	if (!direct && e->code != CODE_TRANSACTION_POOLING) {
		log_err(LOG_WARN, "database", e);
		return 0;
	}
	return rc;
}

static void
warn_of_limit(const char *text)
{
	log_line(LOG_WARN, "kernel_limit", "%s", text);
}

int
master_run(const struct conf *conf, const char *pool, struct err *e)
{
	struct master m = { .conf = conf };
	sigset_t set;
	int sig = 0;

	if (check_database(conf, e) < 0 || control_prepare(conf, e) < 0 ||
	    (server_is_fastcgi() ? use_given_socket(&m, pool, e)
				 : open_sockets(&m, e)) < 0)
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	warm_open();
	plan_children(&m);
	(void)kernel_limits_check("/proc/sys", warn_of_limit);
	log_line(LOG_INFO, "started",
	    "version %s, %lld api, %lld read, %lld auth and %lld stream workers",
	    PACKAGE_VERSION, (long long)conf->api_workers,
	    (long long)conf->read_workers, (long long)conf->auth_workers,
	    (long long)conf->stream_workers);
	while (sig != SIGTERM && sig != SIGINT) {
		bool put_off = replace_missing(&m);

		sig = wait_signal(&set, put_off ? QUICK_DEATH_MS : -1);
		reap_children(&m, true);
	}
	stop_children(&m, &set);
	free(m.children);
	log_line(LOG_INFO, "stopped",
	    "workers have ended; sandboxes keep running");
	return 0;
}
