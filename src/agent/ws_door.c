/* ws_door.c: who answers the session's socket for WebSockets. */
#include "agent/ws_door.h"

#include <fcntl.h>
#include <pthread.h>
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
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct child program = { -1, -1 }; /* under the lock */
static int vain_lives;                    /* in a row */

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
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	theirs = ends[1];
	pthread_mutex_lock(&lock);
	rc = spawn_start(&(struct spawn){ .argv = ARGV,
			     .envp = envp,
			     .cwd = "/",
			     .in = listener,
			     .out = theirs,
			     .err = null },
	    &program, e);
	pthread_mutex_unlock(&lock);
	if (rc < 0) {
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
	int status;

	close(take_fd(&control));
	pthread_mutex_lock(&lock);
	kill(program.pid, SIGKILL);
	status = spawn_wait(&program);
	pthread_mutex_unlock(&lock);
	if (status == 0)
		vain_lives = 0; /* it was idle, or asked to */
	if (vain_lives >= TRIES && listener >= 0)
		turn_away();
}

void
ws_door_bounce(void)
{
	pthread_mutex_lock(&lock);
	if (program.pid > 0)
		kill(program.pid, SIGTERM);
	pthread_mutex_unlock(&lock);
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
	} else if (str_equal(e.code, "peer_closed")) {
		end();
	} else if (!str_equal(e.code, "timed_out")) {
		/* a client who is not served; the others are */
		log_err(LOG_WARN, "websocket_lost", &e);
	}
}
