/* init.c: PID 1 of a sandbox: the loop. */
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
#include "agent/init/watchdog.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { REQUEST_MS = 2000, AGAIN_MS = 50 };

/*
 * Of this sandbox's user namespace, which is counted on the host for a user that
 * all sandboxes share.
 */
static const struct {
	const char *file, *most;
} USER_LIMITS[] = {
	{ "/proc/sys/user/max_inotify_instances", "64" },
	{ "/proc/sys/user/max_inotify_watches", "65536" },
};

/* ---- cells */

/*
 * The one message that init reads from a wrapper: does it serve?  False, and why
 * not.
 */
static bool
hear_start(struct init *in, struct cell *cell, struct err *e)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	struct err ignored = { 0 };

	/*
	 * A cell that fails before it has read its launch leaves a reset, and
	 * behind that its last word.
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

	/* what it said last may have come after the look at its channel */
	if (!cell->serving && cell->channel >= 0)
		(void)!hear_start(in, cell, &e);
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

/* Those who wait for the launch hear why, and the cell goes. */
static void
fail_start(struct init *in, struct cell *cell, const struct err *e)
{
	mem_close_fd(&cell->channel);
	kill(cell->pid, SIGKILL);
	init_launch_failed(in, cell->session, e);
}

/* ---- connections */

static struct conn *
free_conn(struct init *in)
{
	for (size_t i = 0; i < INIT_CONNS_MAX; i++)
		if (in->conns[i].wait == WAIT_NOTHING)
			return &in->conns[i];
	return NULL;
}

/* As many as there is room for; the others wait in the backlog. */
static void
accept_all(struct init *in)
{
	struct conn *c;

	while ((c = free_conn(in)) != NULL) {
		int fd = accept4(in->opt.control_fd, NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (channel_accept_must_pause(errno))
				in->accept_at = clock_ms() + AGAIN_MS;
			return;
		}
		*c = (struct conn){ .fd = fd,
			.wait = WAIT_REQUEST,
			.until = clock_ms() + REQUEST_MS };
	}
}

static void
read_request(struct init *in, struct conn *c)
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

struct watch {
	struct pollfd poll[2 + INIT_CONNS_MAX + CELLS_MAX];
	pid_t pid[CELLS_MAX]; /* whose channel; cells move when one ends */
	size_t count, cells;
};

static void
add_fd(struct watch *w, int fd)
{
	w->poll[w->count++] = (struct pollfd){ fd, POLLIN, 0 };
}

/* Until when nothing is due; what is to be watched is in *w. */
static int64_t
collect_fds(struct init *in, int signal_fd, struct watch *w)
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
		const struct conn *c = &in->conns[i];

		add_fd(w, c->wait == WAIT_REQUEST ? c->fd : -1);
		if (c->wait != WAIT_NOTHING && c->until < next)
			next = c->until;
		if (c->wait == WAIT_GONE && c->again < next)
			next = c->again;
	}
	for (size_t i = 0; i < in->cells.count; i++) {
		const struct cell *c = &in->cells.cell[i];

		/* what a serving wrapper may say is never read */
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

/* Waits for what is due or heard next, and does it. */
static void
serve_once(struct init *in, int signal_fd, struct watch *w)
{
	int64_t next = collect_fds(in, signal_fd, w);
	const struct pollfd *conn = w->poll + 2;
	const struct pollfd *cell = conn + INIT_CONNS_MAX;
	struct err e;

	(void)poll(w->poll, w->count,
	    next == INT64_MAX ? -1 : clock_left_ms(next));
	for (size_t i = 0; i < w->cells; i++) {
		struct cell *c = cells_by_pid(&in->cells, w->pid[i]);

		if (cell[i].revents != 0 && c != NULL && !hear_start(in, c, &e))
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
		struct conn *c = &in->conns[i];

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

/* True when it is time to end. */
static bool
take_signals(struct init *in, int signal_fd)
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

/* One tenant must not use up what the host's user has for all. */
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
prepare(struct init *in, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", in->agent, INIT_AGENT_MAX - 1);

	if (n <= 0)
		return err_errno(e, "cannot find this program");
	in->agent[n] = '\0';
	/* cells are copies of us: what was freed must not be in them */
	mallopt(M_PERTURB, 0x5a);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024);
	prctl(PR_SET_DUMPABLE, 0);
	disk_usage_read_all(false); /* only the child that measures may */
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
	struct watch w = { 0 };
	struct err e = { 0 };
	int signal_fd;

	in.opt = *opt;
	/* everything inherited is for us alone, the host's lock file too */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	signal_fd = watch_signals();
	if (signal_fd < 0 || prepare(&in, &e) < 0) {
		log_err(LOG_ERROR, "start_failed", &e);
		return EXIT_FAILURE;
	}
	log_line(LOG_INFO, "ready", "sandbox %s version %s", in.opt.sandbox,
	    PACKAGE_VERSION);
	do
		serve_once(&in, signal_fd, &w);
	while (!take_signals(&in, signal_fd));
	return EXIT_SUCCESS;
}
