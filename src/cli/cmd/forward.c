/*
 * forward.c: connects a port of 127.0.0.1 on this machine to a port of a
 * session.
 *
 * Two `sandlease exec` serve each connection.  One runs a relay in the session:
 * it connects to the port, and its output goes to the local client.  The other
 * writes the bytes of the local client to a fifo, which the relay reads.  One
 * exec is not enough: a command without input waits for the reader of its
 * output, but the output of a command with input is in a ring that may
 * overflow.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/http/sessions.h"
#include "cli/interrupts.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/token.h"

extern char **environ;

enum {
	PORT_MAX = 65535,
	LISTENERS_MAX = 16,
	BACKLOG = 64,
	CONNECTIONS_MAX = 64,
	LOOK_MS = 500 /* if all places are taken: when to look for a free one */
};

/* The relay.  $1 is the port, $2 the fifo, which the relay removes at its end.
   Perl can close one direction of the connection; bash cannot. */
static const char RELAY[] =
    "umask 077\n"
    "if command -v perl >/dev/null; then exec perl -MIO::Socket::INET -MPOSIX=mkfifo -e '\n"
    "my ($port, $pipe) = @ARGV; my $b; $SIG{PIPE} = \"IGNORE\";\n"
    "$SIG{HUP} = $SIG{INT} = $SIG{TERM} = sub { unlink $pipe; exit 143 };\n"
    "mkfifo $pipe, 0600 or die \"$pipe: $!\\n\";\n"
    "my $s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $port)\n"
    " or do { unlink $pipe; print STDERR \"port $port: $!\\n\"; exit 1 };\n"
    "my $up = fork // die;\n"
    "if (!$up) { open my $in, \"<\", $pipe or die; unlink $pipe;\n"
    " while (sysread $in, $b, 65536) { put($s, $b) or last }\n"
    " shutdown $s, 1; exit 0 }\n"
    "while (sysread $s, $b, 65536) { put(*STDOUT, $b) or last }\n"
    "kill 15, $up; unlink $pipe;\n"
    "sub put { my ($to, $d) = @_; while (length $d) {\n"
    " my $n = syswrite $to, $d; return 0 if !$n; substr $d, 0, $n, \"\" } 1 }\n"
    "' \"$1\" \"$2\"; fi\n"
    "trap 'rm -f \"$2\"' EXIT; trap 'exit 143' HUP INT TERM\n"
    "mkfifo \"$2\" && exec 3<>\"/dev/tcp/127.0.0.1/$1\" || exit 1\n"
    "{ cat \"$2\" >&3; } & up=$!; cat <&3; kill $up 2>/dev/null\n";

/* Writes to the fifo $1; waits until the relay has made it. */
static const char FEED[] =
    "for i in {1..600}; do [ -p \"$1\" ] && exec cat >\"$1\"; sleep 0.05; done\n";

struct listener {
	int fd;
	int64_t local, port;
};

struct forward {
	struct cli *cli;
	char id[ID_MAX];
	struct listener listener[LISTENERS_MAX];
	int listeners;
	pid_t connection[CONNECTIONS_MAX]; /* process groups; 0: free */
};

/* ---- listening */

static int
listen_on(struct listener *l, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)l->local) };
	socklen_t len = sizeof(at);
	int one = 1;

	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 ||
	    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) <
		0 ||
	    bind(l->fd, (struct sockaddr *)&at, len) < 0 ||
	    listen(l->fd, BACKLOG) < 0 ||
	    getsockname(l->fd, (struct sockaddr *)&at, &len) < 0)
		return err_errno(e, "127.0.0.1:%lld", (long long)l->local);
	l->local = ntohs(at.sin_port);
	return 0;
}

/* Parses "PORT" or "LOCAL:PORT", and listens; LOCAL 0: any free port. */
static int
add_listener(struct forward *f, const char *word, struct err *e)
{
	struct listener *l = &f->listener[f->listeners];
	const char *colon = strchr(word, ':');
	auto_free char *local = colon != NULL
	    ? xasprintf("%.*s", (int)(colon - word), word)
	    : xstrdup(word);

	if (!str_to_int(local, 0, PORT_MAX, &l->local) ||
	    !str_to_int(colon != NULL ? colon + 1 : word, 1, PORT_MAX,
		&l->port))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a forwarded port is PORT or LOCAL:PORT, not \"%.40s\"",
		    word);
	l->fd = -1;
	f->listeners++;
	return listen_on(l, e);
}

static void
print_listener(const struct forward *f, const struct listener *l)
{
	printf(f->cli->json
		? "{\"local\":%lld,\"session\":\"%s\",\"port\":%lld}\n"
		: "127.0.0.1:%lld -> %s:%lld\n",
	    (long long)l->local, f->id, (long long)l->port);
	fflush(stdout);
}

/* ---- one connection, in a process of its own */

/* Starts `sandlease exec` with a script; `fds` are its stdin, stdout, stderr. */
static pid_t
spawn_exec(const char *id, const int fds[3], const char *script,
    const char *first, const char *second)
{
	char *argv[] = { xstrdup("sandlease"), xstrdup("exec"), xstrdup(id),
		xstrdup("--"), xstrdup("bash"), xstrdup("-c"), xstrdup(script),
		xstrdup("forward"), xstrdup(first),
		second != NULL ? xstrdup(second) : NULL, NULL };
	posix_spawn_file_actions_t files;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&files);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&files, fds[i], i);
	rc = posix_spawn(&pid, "/proc/self/exe", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	for (size_t i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	return rc == 0 ? pid : -1;
}

/* Returns at the end of the relay, which has passed on all that it has read. */
static void
serve_connection(const struct forward *f, int64_t port, int fd)
{
	char number[8], token[TOKEN_PREVIEW_LEN + 1];
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_free char *pipe = NULL;
	pid_t down, up;

	token_make(token);
	pipe = xasprintf("/tmp/.sandlease-forward-%s", token);
	snprintf(number, sizeof(number), "%d", (int)port);
	down = spawn_exec(f->id, (const int[]){ null, fd, STDERR_FILENO },
	    RELAY, number, pipe);
	up = spawn_exec(f->id, (const int[]){ fd, null, null }, FEED, pipe,
	    NULL);
	while (down > 0 && waitpid(down, NULL, 0) < 0 && errno == EINTR)
		;
	shutdown(fd, SHUT_RDWR);
	if (up > 0)
		kill(up, SIGTERM);
	while (up > 0 && waitpid(up, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The child leads a process group of its own.  So ^C reaches only the parent,
 * which ends all groups in end_connections(). */
static void
fork_connection(struct forward *f, const struct listener *l, int fd,
    pid_t *place)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t none;

	if (pid > 0)
		*place = pid;
	if (pid != 0) {
		if (pid > 0)
			(void)setpgid(pid, pid);
		close(fd);
		return;
	}
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	serve_connection(f, l->port, fd);
	_exit(EXIT_SUCCESS);
}

/* ---- all connections */

/* Reaps children that have ended.  A free place, or NULL if there is none. */
static pid_t *
find_free_place(struct forward *f)
{
	pid_t *place = NULL;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		pid_t *p = &f->connection[i];

		if (*p != 0 && waitpid(*p, NULL, WNOHANG) == *p)
			*p = 0;
		if (*p == 0)
			place = p;
	}
	return place;
}

static int
accept_connections(struct forward *f, int signals)
{
	struct pollfd fds[LISTENERS_MAX + 1] = { { signals, POLLIN, 0 } };

	for (;;) {
		pid_t *place = find_free_place(f);
		int number;

		/* without a free place, new connections wait in the backlog */
		for (int i = 0; i < f->listeners; i++)
			fds[i + 1] = (struct pollfd){ f->listener[i].fd,
				place != NULL ? POLLIN : 0, 0 };
		if (poll(fds, (nfds_t)f->listeners + 1,
			place != NULL ? -1 : LOOK_MS) < 0)
			continue;
		number = fds[0].revents != 0 ? interrupts_end(signals) : 0;
		if (number != 0)
			return 128 + number;
		for (int i = 0; i < f->listeners && place != NULL; i++) {
			int fd = fds[i + 1].revents != 0
			    ? accept4(f->listener[i].fd, NULL, NULL,
				  SOCK_CLOEXEC)
			    : -1;

			if (fd >= 0)
				fork_connection(f, &f->listener[i], fd, place);
			place = find_free_place(f);
		}
	}
}

static void
end_connections(struct forward *f)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (f->connection[i] != 0)
			kill(-f->connection[i], SIGTERM);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		while (f->connection[i] != 0 &&
		    waitpid(f->connection[i], NULL, 0) < 0 && errno == EINTR)
			;
	for (int i = 0; i < f->listeners; i++)
		mem_close_fd(&f->listener[i].fd);
}

static int
prepare(struct forward *f, struct err *e)
{
	const struct args *a = &f->cli->args;

	if (a->operands - 1 > LISTENERS_MAX)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "at most %d ports can be forwarded", LISTENERS_MAX);
	if (token_init(e) < 0 ||
	    session_find(f->cli->client, a->operand[0], f->id, e) < 0)
		return -1;
	for (int i = 1; i < a->operands; i++)
		if (add_listener(f, a->operand[i], e) < 0)
			return -1;
	/* each `sandlease exec` finds service and key in the environment */
	if (setenv("SANDLEASE_URL", client_url(f->cli->client), 1) < 0 ||
	    setenv("SANDLEASE_API_KEY", client_key(f->cli->client), 1) < 0 ||
	    unsetenv("SANDLEASE_PROFILE") < 0)
		return err_errno(e, "environment");
	/* wakes the session, and fails now if it cannot be used */
	return session_call(f->cli->client, "GET", f->id, "/api/ping", NULL,
	    NULL, e);
}

int
cmd_port_forward(struct cli *k, struct err *e)
{
	struct forward f = { .cli = k };
	auto_fd int signals = -1;
	int rc = prepare(&f, e);

	if (rc == 0)
		rc = signals = interrupts_open(e);
	if (rc >= 0) {
		for (int i = 0; i < f.listeners; i++)
			print_listener(&f, &f.listener[i]);
		rc = accept_connections(&f, signals);
	}
	end_connections(&f);
	return rc;
}
