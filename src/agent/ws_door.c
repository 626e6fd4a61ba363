/* ws_door.c: who answers the session's socket for WebSockets. */
#include "agent/ws_door.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/spawn.h"
#include "agent/ws.h"
#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

static const char PROGRAM[] = "/sandlease-ws";

/* Who ends so often without having served anybody cannot be started. */
enum { TRIES = 3 };

static int listener = -1;
static int control = -1; /* -1: the program does not run */
static struct child program;
static int vain_lives; /* in a row */

void
ws_door_open(int listen_fd)
{
	listener = listen_fd;
	/* who connected may have left by the time it is accepted */
	fcntl(listener, F_SETFL, O_NONBLOCK);
}

void
ws_door_shut(void)
{
	mem_close_fd(&listener);
}

int
ws_door_fd(void)
{
	return control >= 0 ? control : listener;
}

/* It would be there for ever, and we would be told so for ever. */
static void
turn_away(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		close(fd);
	vain_lives = 0;
}

static int
start(struct err *e)
{
	static const char *const ARGV[] = { PROGRAM, NULL };
	char *envp[] = { NULL };
	auto_fd int theirs = -1;
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	theirs = ends[1];
	if (spawn_start(&(struct spawn){ .argv = ARGV,
			    .envp = envp,
			    .cwd = "/",
			    .in = listener,
			    .out = theirs,
			    .err = null },
		&program, e) < 0) {
		close(ends[0]);
		return -1;
	}
	control = ends[0];
	vain_lives++; /* until somebody is served */
	return 0;
}

static void
end(void)
{
	close(take_fd(&control));
	kill(program.pid, SIGKILL);
	if (spawn_wait(&program) == 0)
		vain_lives = 0; /* it was idle */
	if (vain_lives >= TRIES && listener >= 0)
		turn_away();
}

void
ws_door_ready(void)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	struct err e = { 0 };

	if (control < 0) {
		if (start(&e) < 0) {
			log_err(LOG_ERROR, "no_websockets", &e);
			turn_away();
		}
		return;
	}
	if (channel_recv(control, clock_ms(), &msg, &fds, &e) == 0) {
		vain_lives = 0;
		ws_serve(msg, channel_fds_take(&fds, 0));
	} else if (!str_equal(e.code, "timed_out")) {
		end();
	}
}
