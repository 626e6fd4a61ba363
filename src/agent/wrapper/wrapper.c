/* wrapper.c: starts serving one session, runs its main loop and ends it. */
#include "agent/wrapper/wrapper.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/api/routes.h"
#include "agent/attempt/attempt.h"
#include "agent/base/proctree.h"
#include "agent/base/serve.h"
#include "agent/cell/launch.h"
#include "agent/cell/limits_view.h"
#include "agent/files/secret_list.h"
#include "agent/git/config.h"
#include "agent/process/process.h"
#include "agent/pty/pty.h"
#include "agent/relay/relay.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "agent/shell/envset.h"
#include "agent/shell/shell.h"
#include "agent/wrapper/keys.h"
#include "agent/ws/door.h"
#include "agent/ws/ws.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "web/server.h"

enum {
	LAUNCH_MS = 10000,
	ENDING_MS = 10,
	HANG_UP_MS = 1000,
	LAST_WORDS_MS = 1000, /* for calls to answer after their commands end */
	SENDING_MS = 100      /* then calls that wait for a body are woken */
};

/* Ends the processes and the terminal of a deleted shell session. */
static size_t
end_with_shell(const char *name)
{
	return process_kill_all(name) + pty_end_of(name);
}

static int
open_ports(const struct launch *l, struct channel_fds *fds, struct err *e)
{
	for (size_t i = 0; i < l->port_count; i++) {
		int fd = channel_fds_take(fds, LAUNCH_PORTS + i);

		if (fd < 0)
			return err_set(e, ERR_INVALID, CODE_LAUNCH_FAILED,
			    "no socket for port %d", l->ports[i]);
		if (relay_expose(l->ports[i], 0, fd, e) < 0)
			return -1;
	}
	return 0;
}

static int
begin_serving(struct err *e)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	auto_json json_t *answer = json_pack("{s:b}", "ok", 1);
	struct launch l;
	int data, ws;

	if (channel_recv(WRAPPER_CHANNEL, clock_ms() + LAUNCH_MS, &msg, &fds,
		e) < 0 ||
	    launch_decode(msg, &l, e) < 0 ||
	    (l.env != NULL && envset_merge(l.env, false, e) < 0))
		return -1;
	log_open("sandlease-wrapper", l.log_level, l.log_format);
	log_limit(l.log_kb * 1024);
	log_context("", l.session);
	envset_open(&(struct envset_session){ .id = l.session,
	    .name = l.name,
	    .user = l.user,
	    .cpus = l.shown_cpus,
	    .network = l.network });
	fcntl(WRAPPER_MEMINFO, F_SETFD, FD_CLOEXEC);
	if (l.shown_memory_mb > 0)
		limits_view_open(WRAPPER_MEMINFO, l.shown_memory_mb);
	shell_open(l.instance);
	shell_on_delete(end_with_shell);
	activity_also(pty_running);
	keys_open(l.session);
	routes_open(l.session);
	gitconfig_write("/home/user/.gitconfig", l.git_name, l.git_email);
	ws_open(l.session);
	data = channel_fds_take(&fds, LAUNCH_DATA);
	ws = channel_fds_take(&fds, LAUNCH_WS);
	if (data < 0 || ws < 0)
		return err_set(e, ERR_INVALID, CODE_LAUNCH_FAILED,
		    "no socket to serve on");
	ws_door_open(ws);
	if (session_end_open(e) < 0)
		return -1;
	if (serve_start(data, routes_handle, e) < 0 ||
	    open_ports(&l, &fds, e) < 0)
		return -1;
	return channel_send(WRAPPER_CHANNEL, answer, NULL, 0, e);
}

/* SIGTERM is blocked in every thread and read from this signalfd. */
static int
watch_term(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Obeys only the cell's first process: the tenant can send SIGTERM, too. */
static bool
told_to_end(int signal_fd)
{
	struct signalfd_siginfo s;
	bool end = false;

	while (read(signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
		end = end || s.ssi_pid == 1;
	return end;
}

/* Receives a message of init and starts its operation; false: init has gone. */
static bool
read_message(struct err *e)
{
	struct channel_fds fds = { .count = 0 };
	json_t *msg = NULL;

	if (session_end_receive(WRAPPER_CHANNEL, &msg, &fds, e) < 0)
		return e->code != CODE_PEER_CLOSED;
	if (fds.count == 0)
		json_release(&msg);
	else
		wrapper_op(msg, &fds, channel_fds_take(&fds, fds.count - 1));
	return true;
}

/*
 * Counts the processes of the cell, without its first process, the wrapper and
 * sandlease-ws.  Sends `sig` to each, unless that is 0.
 */
static size_t
signal_others(int sig)
{
	auto_tree struct proctree all = { 0 };
	pid_t ws = ws_door_pid();
	size_t n = 0;

	proctree_take(1, &all);
	for (size_t i = 0; i < all.count; i++) {
		pid_t pid = all.procs[i].pid;

		if (pid == getpid() || pid == ws)
			continue;
		n++;
		if (sig != 0)
			kill(pid, sig);
	}
	return n;
}

/* Progress of the session's end; times are of clock_ms(). */
struct leaving {
	bool begun;
	int64_t kill_ms;    /* SIGKILL for processes that still run; 0: never */
	int64_t words_ms;   /* end of the wait for answers; 0: not begun */
	int64_t hang_up_ms; /* next SIGHUP for terminals */
};

/*
 * True when the wrapper may exit.  First the tenant's processes end, then the
 * calls that waited for them are answered, last the WebSockets are closed.
 */
static bool
may_leave(struct leaving *l)
{
	bool late = l->kill_ms > 0 && clock_left_ms(l->kill_ms) == 0;
	int64_t answering;

	if (!l->begun || signal_others(late ? SIGKILL : 0) > 0)
		return false;
	if (l->words_ms == 0) {
		l->words_ms = clock_ms() + LAST_WORDS_MS;
		session_end_wake();
		server_end_bodies();
	}
	/* a client that stops sending would keep its call waiting for a body */
	if (clock_left_ms(l->words_ms) < LAST_WORDS_MS - SENDING_MS)
		server_cut_bodies();
	/* serve_in_hand() counts a call until its answer is sent */
	answering = activity_count(ACTIVITY_RUNNING) +
	    activity_count(ACTIVITY_STREAMS) + serve_in_hand();
	if (answering > 0 && clock_left_ms(l->words_ms) > 0)
		return false;
	ws_door_leave();
	return ws_door_pid() <= 0;
}

static void
begin_leaving(struct leaving *l)
{
	struct pollfd f = { WRAPPER_CHANNEL, POLLIN, 0 };
	struct err ignored;
	int64_t grace_ms;

	/* init sent the reason before the signal: read it first */
	while (poll(&f, 1, 0) == 1 && read_message(&ignored))
		;
	grace_ms = session_end_grace_ms();
	l->begun = true;
	attempt_leave();
	l->kill_ms = grace_ms > 0 ? clock_ms() + grace_ms : 0;
	ws_door_shut();
}

/*
 * SIGTERM goes to all processes of the cell.  The wrapper exits last, because
 * it must still read what the others write before they exit.
 */
static void
serve_ops(int signal_fd)
{
	enum { OPS, SIGNALS, DOOR };
	struct pollfd f[DOOR + WS_DOOR_FDS] = {
		[OPS] = { WRAPPER_CHANNEL, POLLIN, 0 },
		[SIGNALS] = { signal_fd, POLLIN, 0 },
	};
	struct leaving l = { .begun = false };
	struct err e = { 0 };

	while (!may_leave(&l)) {
		int ms = ws_door_watch(f + DOOR);

		(void)poll(f, ARRAY_LEN(f), l.begun ? ENDING_MS : ms);
		if (f[SIGNALS].revents != 0 && told_to_end(signal_fd))
			begin_leaving(&l);
		/*
		 * More than once: bash misses a signal that comes just before
		 * it waits for a key.
		 */
		if (l.begun && clock_left_ms(l.hang_up_ms) == 0) {
			pty_hang_up_all();
			l.hang_up_ms = clock_ms() + HANG_UP_MS;
		}
		if (f[OPS].revents != 0 && !read_message(&e))
			return;
		ws_door_ready(f + DOOR);
	}
}

int
wrapper_main(void)
{
	struct err e = { 0 }, ignored;
	int signal_fd = watch_term();

	/* the tenant's processes cannot read our memory or take our sockets */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "sandlease-wrap");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* use little memory: a host has many wrappers */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024);
	mallopt(M_MMAP_THRESHOLD, 64 * 1024);
	secret_list_remove_all(); /* of a wrapper that was killed */
	if (begin_serving(&e) < 0) {
		auto_json json_t *msg = json_pack("{s:b, s:s, s:s}", "ok", 0,
		    "code", code_word(CODE_LAUNCH_FAILED), "message", e.msg);

		(void)!channel_send(WRAPPER_CHANNEL, msg, NULL, 0, &ignored);
		log_err(LOG_ERROR, "launch_failed", &e);
		return EXIT_FAILURE;
	}
	activity_touch();
	log_line(LOG_INFO, "serving", "version %s", PACKAGE_VERSION);
	serve_ops(signal_fd);
	process_settle();
	attempt_settle();
	secret_list_remove_all();
	/* no exit handlers: other threads still run */
	_exit(EXIT_SUCCESS);
}
