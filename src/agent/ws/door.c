/*
 * door.c: accepts WebSocket connections and hands them to sandlease-ws.
 *
 * nginx connects to this socket on behalf of clients whose key was checked, so
 * tenant code must never hold the listener: it could answer in the session's
 * name after the key was revoked.  These facts together prevent that:
 *
 * - Only the wrapper has the listener, and the listener is closed on exec.
 * - The wrapper makes itself not dumpable (wrapper_main) before the tenant's
 *   first process exists in its pid namespace, and processes of other cells
 *   cannot name it.  To trace a process that is not dumpable, or to open its
 *   descriptors or memory, needs CAP_SYS_PTRACE, which no cell has.
 * - A child of the wrapper is a copy and not dumpable either until its exec; by
 *   then the listener is closed (spawn.c).
 * - The system call filter refuses pidfd_getfd() (sysfilter_gen.c).
 *
 * The tenant may trace sandlease-ws between its exec and its first lines.  That
 * program holds connections only, and ws_door_bounce() ends these without its
 * help.
 */
#include "agent/ws/door.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/base/spawn.h"
#include "agent/ws/ws.h"
#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/wslink.h"

static const char PROGRAM[] = "/sandlease-ws";

enum {
	IDLE_MS = 15 * 1000, /* between checks; idle at two: end the program */
	AGAIN_MS = 50,       /* pause after accept() found no descriptor */
	GOODBYE_MS = 500     /* for close frames, before connections are cut */
};

/* for the main thread only */
static int listener = -1;
static int control = -1; /* -1: the program does not run */
static int64_t accept_at, look_at;
static bool was_idle;

static struct lock lock = LOCK_INIT(LOCK_WS_DOOR);
static struct child program = { -1, -1 }; /* under the lock */
static bool leaving;                      /* likewise: SIGTERM was sent */

void
ws_door_open(int listen_fd)
{
	listener = listen_fd;
	/* a client that leaves before accept() must not block the thread */
	fcntl(listener, F_SETFL, O_NONBLOCK);
}

void
ws_door_shut(void)
{
	mem_close_fd(&listener);
}

static bool
is_leaving(void)
{
	bool is;

	lock_take(&lock);
	is = leaving;
	lock_drop(&lock);
	return is;
}

int
ws_door_watch(struct pollfd f[WS_DOOR_FDS])
{
	int pause_ms = clock_left_ms(accept_at);
	/* new clients wait in the backlog for the next sandlease-ws */
	bool closed = pause_ms > 0 || is_leaving();

	f[0] = (struct pollfd){ control, POLLIN, 0 };
	f[1] = (struct pollfd){ closed ? -1 : listener, POLLIN, 0 };
	if (pause_ms > 0)
		return pause_ms;
	return control >= 0 ? clock_left_ms(look_at) : -1;
}

/* ---- the program */

static int
start_program(struct err *e)
{
	static const char *const ARGV[] = { PROGRAM, NULL };
	char *envp[] = { NULL };
	auto_fd int theirs = -1;
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	theirs = ends[1];
	/* a program that does not read must not block the main thread */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	lock_take(&lock);
	rc = spawn_start(&(struct spawn){ .argv = ARGV,
			     .envp = envp,
			     .cwd = "/",
			     .in = null,
			     .out = theirs,
			     .err = null },
	    &program, e);
	leaving = false;
	lock_drop(&lock);
	if (rc < 0) {
		close(ends[0]);
		return -1;
	}
	control = ends[0];
	look_at = clock_ms() + IDLE_MS;
	was_idle = false;
	return 0;
}

/* The kill is safe: the pid of a child is not reused before the wait. */
static void
end_program(void)
{
	mem_close_fd(&control);
	lock_take(&lock);
	kill(program.pid, SIGKILL);
	spawn_wait(&program);
	leaving = false;
	lock_drop(&lock);
}

/* ---- connections */

/* Sends the client to the program; starts that again if it has died. */
static int
hand_over(int client, int theirs, struct err *e)
{
	const int fds
	    [WSLINK_FDS] = { [WSLINK_CLIENT] = client, [WSLINK_PAIR] = theirs };
	auto_json json_t *msg = json_object();

	if (control < 0 && start_program(e) < 0)
		return -1;
	if (channel_send(control, msg, fds, WSLINK_FDS, e) == 0)
		return 0;
	if (e->code != CODE_PEER_CLOSED)
		return -1;
	end_program();
	return start_program(e) < 0
	    ? -1
	    : channel_send(control, msg, fds, WSLINK_FDS, e);
}

static int
admit_client(int client, struct err *e)
{
	auto_fd int theirs = -1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	theirs = ends[1];
	if (hand_over(client, theirs, e) < 0) {
		close(ends[0]);
		return -1;
	}
	was_idle = false;
	ws_serve(client, ends[0]);
	return 0;
}

static void
accept_one(void)
{
	int client =
	    accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct err e = { 0 };

	if (client < 0) {
		if (channel_accept_must_pause(errno))
			accept_at = clock_ms() + AGAIN_MS;
		return;
	}
	if (admit_client(client, &e) < 0) {
		log_err(LOG_ERROR, "no_websocket", &e);
		close(client);
	}
}

void
ws_door_ready(const struct pollfd f[WS_DOOR_FDS])
{
	/* the program sends nothing: an event means that it has ended */
	if (f[0].fd >= 0 && f[0].revents != 0)
		end_program();
	/* another thread may have sent SIGTERM after the listener was polled */
	if (f[1].fd >= 0 && f[1].revents != 0 && listener >= 0 && !is_leaving())
		accept_one();
	if (control >= 0 && clock_left_ms(look_at) == 0) {
		bool idle = ws_serving() == 0;

		look_at = clock_ms() + IDLE_MS;
		if (idle && was_idle)
			end_program();
		was_idle = idle;
	}
}

pid_t
ws_door_pid(void)
{
	pid_t pid;

	lock_take(&lock);
	pid = program.pid > 0 ? program.pid : 0;
	lock_drop(&lock);
	return pid;
}

void
ws_door_leave(void)
{
	lock_take(&lock);
	if (program.pid > 0 && !leaving) {
		leaving = true;
		kill(program.pid, SIGTERM);
	}
	lock_drop(&lock);
}

void
ws_door_bounce(void)
{
	int64_t before = ws_newest();
	struct pollfd ended = { -1, POLLIN, 0 };

	lock_take(&lock);
	if (program.pid > 0) {
		leaving = true;
		kill(program.pid, SIGTERM);
		ended.fd = fcntl(program.pidfd, F_DUPFD_CLOEXEC, 0);
	}
	lock_drop(&lock);
	if (ended.fd >= 0)
		(void)poll(&ended, 1, GOODBYE_MS);
	mem_close_fd(&ended.fd);
	/* kill a program that ignores SIGTERM, so that a new one can start */
	lock_take(&lock);
	if (program.pid > 0 && leaving)
		kill(program.pid, SIGKILL);
	lock_drop(&lock);
	ws_cut(before);
}
