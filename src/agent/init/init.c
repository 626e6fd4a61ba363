/* init.c: runs the loop of init, process 1 of a sandbox. */
#include "agent/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cell/cell.h"
#include "agent/cell/root.h"
#include "agent/init/disk_usage.h"
#include "agent/init/network.h"
#include "agent/init/watchdog.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	REQUEST_MS = 2000, /* for a client to send its request */
	AGAIN_MS = 50      /* before accept() is tried again */
};

/*
 * Limits of this sandbox's user namespace.  The host counts the same resources
 * for one user that all sandboxes share.
 */
static const struct {
	const char *file, *most;
} USER_LIMITS[] = {
	{ "/proc/sys/user/max_inotify_instances", "64" },
	{ "/proc/sys/user/max_inotify_watches", "65536" },
};

/* ---- cells */

/*
 * Reads the only message that init takes from a wrapper: whether it serves.
 * False: it does not; *e gets the reason.
 */
static bool
read_start_message(struct init *in, struct cell *cell, struct err *e)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	struct err ignored = { 0 };

	/*
	 * If the cell fails before it has read its launch message, the first
	 * read reports a reset, and only the second gets the cell's error.
	 */
	if (channel_recv(cell->channel, clock_ms(), &msg, &fds, &ignored) < 0 &&
	    ignored.code == CODE_PEER_CLOSED)
		(void)!channel_recv(cell->channel, clock_ms(), &msg, &fds,
		    &ignored);
	if (json_is_true(json_object_get(msg, "ok"))) {
		cell->serving = true;
		init_launched(in, cell);
		return true;
	}
	err_set(e, ERR_INTERNAL, CODE_LAUNCH_FAILED, "%.200s",
	    msg != NULL ? json_str(msg, "message")
			: "the cell ended before its wrapper served");
	return false;
}

static void
cell_ended(struct init *in, struct cell *cell)
{
	char session[ID_MAX];
	struct err e = { 0 };

	/* the cell's last message may have arrived after the poll() */
	if (!cell->serving && cell->channel >= 0)
		(void)!read_start_message(in, cell, &e);
	str_copy(session, sizeof(session), cell->session);
	log_line(LOG_INFO, "cell_ended", "%s generation %lld", session,
	    (long long)cell->generation);
	cells_remove(&in->cells, cell);
	if (e.kind != ERR_NONE)
		init_launch_failed(in, session, &e);
	init_cell_ended(in, session);
}

static void
reap(struct init *in)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		struct cell *cell = cells_by_pid(&in->cells, pid);

		if (cell != NULL)
			cell_ended(in, cell);
		if (pid == in->measuring)
			in->measuring = 0;
	}
}

/* Kills the cell and sends the error to the clients that wait for it. */
static void
fail_start(struct init *in, struct cell *cell, const struct err *e)
{
	mem_close_fd(&cell->channel);
	kill(cell->pid, SIGKILL);
	init_launch_failed(in, cell->session, e);
}

/* ---- connections */

static struct init_conn *
free_conn(struct init *in)
{
	for (size_t i = 0; i < INIT_CONNS_MAX; i++)
		if (in->conns[i].wait == WAIT_NOTHING)
			return &in->conns[i];
	return NULL;
}

/* Accepts while slots are free; other clients wait in the backlog. */
static void
accept_all(struct init *in)
{
	struct init_conn *c;

	while ((c = free_conn(in)) != NULL) {
		int fd = accept4(in->opt.control_fd, NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (channel_accept_must_pause(errno))
				in->accept_at = clock_ms() + AGAIN_MS;
			return;
		}
		*c = (struct init_conn){ .fd = fd,
			.wait = WAIT_REQUEST,
			.until = clock_ms() + REQUEST_MS };
	}
}

static void
read_request(struct init *in, struct init_conn *c)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	struct err e = { 0 };

	if (channel_recv(c->fd, clock_ms(), &msg, &fds, &e) < 0) {
		if (e.code == CODE_PEER_CLOSED)
			init_conn_free(c);
		else
			init_refuse(c, &e);
		return;
	}
	init_op(in, c, msg, &fds);
}

/* ---- the loop */

struct poll_set {
	struct pollfd poll[2 + INIT_CONNS_MAX + CELLS_MAX];
	/* of the polled cells: an index would change when another cell ends */
	pid_t pid[CELLS_MAX];
	size_t count, cells;
};

static void
add_fd(struct poll_set *w, int fd)
{
	w->poll[w->count++] = (struct pollfd){ fd, POLLIN, 0 };
}

/* Fills *w and returns the time until which poll() may wait. */
static int64_t
collect_fds(struct init *in, int signal_fd, struct poll_set *w)
{
	int64_t next = INT64_MAX;

	w->count = w->cells = 0;
	add_fd(w, signal_fd);
	if (clock_left_ms(in->accept_at) > 0)
		next = in->accept_at;
	add_fd(w,
	    free_conn(in) != NULL && next == INT64_MAX ? in->opt.control_fd
						       : -1);
	for (size_t i = 0; i < INIT_CONNS_MAX; i++) {
		const struct init_conn *c = &in->conns[i];

		add_fd(w, c->wait == WAIT_REQUEST ? c->fd : -1);
		if (c->wait != WAIT_NOTHING && c->until < next)
			next = c->until;
		if (c->wait == WAIT_GONE && c->again < next)
			next = c->again;
	}
	for (size_t i = 0; i < in->cells.count; i++) {
		const struct cell *c = &in->cells.cell[i];

		/* init never reads from a wrapper that serves */
		if (c->serving || c->channel < 0)
			continue;
		w->pid[w->cells++] = c->pid;
		add_fd(w, c->channel);
		if (c->start_by < next)
			next = c->start_by;
	}
	if (watchdog_next(&in->cells, in->watched_at) < next)
		next = watchdog_next(&in->cells, in->watched_at);
	return next;
}

/* Waits for the next message or deadline, and handles it. */
static void
serve_once(struct init *in, int signal_fd, struct poll_set *w)
{
	int64_t next = collect_fds(in, signal_fd, w);
	const struct pollfd *conn = w->poll + 2;
	const struct pollfd *cell = conn + INIT_CONNS_MAX;
	struct err e;

	(void)poll(w->poll, w->count,
	    next == INT64_MAX ? -1 : clock_left_ms(next));
	for (size_t i = 0; i < w->cells; i++) {
		struct cell *c = cells_by_pid(&in->cells, w->pid[i]);

		if (cell[i].revents != 0 && c != NULL &&
		    !read_start_message(in, c, &e))
			fail_start(in, c, &e);
	}
	for (size_t i = 0; i < in->cells.count; i++) {
		struct cell *c = &in->cells.cell[i];

		if (c->serving || c->channel < 0 ||
		    clock_left_ms(c->start_by) > 0)
			continue;
		err_set(&e, ERR_INTERNAL, CODE_LAUNCH_FAILED,
		    "the wrapper did not serve in time");
		fail_start(in, c, &e);
	}
	for (size_t i = 0; i < INIT_CONNS_MAX; i++) {
		struct init_conn *c = &in->conns[i];

		if (conn[i].revents != 0)
			read_request(in, c);
		if (c->wait == WAIT_GONE)
			init_look(in, c);
		else if (c->wait != WAIT_NOTHING &&
		    clock_left_ms(c->until) == 0)
			init_conn_free(c);
	}
	if (w->poll[1].revents != 0)
		accept_all(in);
	if (watchdog_next(&in->cells, in->watched_at) <= clock_ms()) {
		watchdog_look(&in->cells);
		in->watched_at = clock_ms();
	}
}

/* Reads signals and reaps children; true after SIGTERM. */
static bool
read_signals(struct init *in, int signal_fd)
{
	struct signalfd_siginfo s;
	bool end = false;

	while (read(signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
		end = end || s.ssi_signo == SIGTERM;
	reap(in);
	return end;
}

static int
watch_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Sets USER_LIMITS: one tenant must not use up the host user's share. */
static void
limit_user(void)
{
	for (size_t i = 0; i < ARRAY_LEN(USER_LIMITS); i++) {
		auto_fd int fd =
		    open(USER_LIMITS[i].file, O_WRONLY | O_CLOEXEC);
		const char *most = USER_LIMITS[i].most;

		if (fd < 0 || write(fd, most, strlen(most)) < 0)
			log_line(LOG_WARN, "user_limit", "%s cannot be set: %m",
			    USER_LIMITS[i].file);
	}
}

static int
prepare_sandbox(struct init *in, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", in->agent, INIT_AGENT_MAX - 1);

	if (n <= 0)
		return err_errno(e, "cannot find this program");
	in->agent[n] = '\0';
	/* cells start as copies of init: keep no freed data in memory */
	mallopt(M_PERTURB, 0x5a);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024);
	prctl(PR_SET_DUMPABLE, 0);
	disk_usage_read_all(false); /* the measuring child turns it on */
	in->network_unused = network_prepare();
	if (in->opt.writable_root && cell_root_prepare(e) < 0)
		return -1;
	fcntl(in->opt.control_fd, F_SETFL, O_NONBLOCK);
	limit_user();
	cell_prepare(in->opt.argv);
	return 0;
}

int
init_main(const struct init_options *opt)
{
	static struct init in;
	struct poll_set w = { 0 };
	struct err e = { 0 };
	int signal_fd;

	in.opt = *opt;
	/* inherited descriptors, such as the host's lock, are init's alone */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	signal_fd = watch_signals();
	if (signal_fd < 0 || prepare_sandbox(&in, &e) < 0) {
		log_err(LOG_ERROR, "start_failed", &e);
		return EXIT_FAILURE;
	}
	log_line(LOG_INFO, "ready", "sandbox %s version %s", in.opt.sandbox,
	    PACKAGE_VERSION);
	do
		serve_once(&in, signal_fd, &w);
	while (!read_signals(&in, signal_fd));
	return EXIT_SUCCESS;
}
